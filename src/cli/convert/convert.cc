// headlight convert: a model's folder with its matrices in another precision.
#include "models/convert.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/model_places.h"
#include "cli/numbers.h"
#include "cli/terminal.h"
#include "inspect/subject.h"

namespace headlight::cli {
namespace {

using models::StoredAs;

struct Settings {
  std::string model, out;
  models::ConvertOptions options;
};

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i)
    text += fmt::format("{}{}", i > 0 ? ", " : "", escaped(names[i], 60));
  return names.size() > kShown ? text + fmt::format(" and {} more", names.size() - kShown) : text;
}

void run(const Settings& s) {
  const std::string from = inspect::find_model(s.model, model_places());
  const models::Converted done = models::convert_folder(from, s.out, s.options);
  const auto megabytes = [](std::int64_t bytes) { return static_cast<double>(bytes) * 1e-6; };
  print(fmt::format("{}: {} tensors, {} matrices in {}; {:.1f} MB, was {:.1f} MB\n", escaped(s.out),
                    done.tensors, done.matrices, models::name_of(s.options.type), megabytes(done.bytes_after),
                    megabytes(done.bytes_before)));
  if (done.merged > 0) print(fmt::format("  {} matrices with their adapter\n", done.merged));
  print(fmt::format("  matrices differ by {:.2g} of their size from what they were\n", done.relative_error));
  print(fmt::format("  copied: {}\n", done.copied.empty() ? "nothing else" : listed(done.copied)));
  if (!done.left_out.empty())
    print(fmt::format("  left out, as they are no floats: {}\n", listed(done.left_out)));
}

}  // namespace

void add_convert(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "convert",
       .what = "Write a model again with its matrices in another precision",
       .usage = "headlight convert MODEL -o FOLDER [--dtype f32|f16|bf16|int8] [--adapter FOLDER] [--force]",
       .examples =
           "  headlight convert gpt2 -o gpt2-bf16 --dtype bf16\n"
           "  headlight convert runs/stories/best -o models/stories --dtype int8\n\n"
           "  Vectors, norms and small tables stay f32. int8 is one f32 factor per row and a byte per\n"
           "  number: docs/guide/weights.md says how it is stored.\n"});
  const auto s = std::make_shared<Settings>();
  add_words(*command, "MODEL", s->model, "A model's folder with safetensors, or a model's name")
      ->required()
      ->type_name("FOLDER");
  add_path(*command, "-o,--out", s->out, "The new folder")->required()->type_name("FOLDER");
  add_choice<StoredAs>(
      *command, "--dtype", s->options.type,
      {{"f32", StoredAs::f32}, {"f16", StoredAs::f16}, {"bf16", StoredAs::bf16}, {"int8", StoredAs::int8}},
      "What matrices become (default f16)");
  add_path(*command, "--adapter", s->options.adapter,
           "An adapter's folder (docs/guide/train.md), which becomes a part of the matrices")
      ->type_name("FOLDER");
  add_switch(*command, "--force", s->options.replace,
             "Replace the folder when it exists (else: exit code 4)");
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
