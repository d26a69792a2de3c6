// headlight bench-model: a model of a known shape with random parameters, for measuring this and other programs.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/numbers.h"
#include "cli/terminal.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "models/random_model.h"

namespace headlight::cli {
namespace {

struct BenchModelSettings {
  std::string out, shape = "llama-1b";
  StoredType type = StoredType::bf16;
  bool force = false;
};

void run(const BenchModelSettings& s) {
  std::error_code ignored;
  if (!s.force && std::filesystem::exists(std::filesystem::symlink_status(s.out, ignored)))
    throw Error(ErrorKind::file, "model.folder", fmt::format("{}: exists already", escaped(s.out)));
  const std::int64_t bytes = models::write_random_model(s.out, models::known_shape(s.shape), s.type);
  print(fmt::format("{}: {} with random parameters in {}, {:.1f} MB\n", escaped(s.out), s.shape,
                    name_of(s.type), static_cast<double>(bytes) * 1e-6));
}

}  // namespace

void add_bench_model(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "bench-model",
       .what = "Write a model with random parameters to measure speed",
       .usage = "headlight bench-model -o FOLDER [--shape NAME] [--dtype f32|f16|bf16|int8] [--force]",
       .examples = "  headlight bench-model -o llama-1b-bf16\n"
                   "  headlight bench-model -o gpt2-f16 --shape gpt2-small --dtype f16\n"
                   "  headlight bench --only models --model llama-1b-bf16\n"});
  const auto s = std::make_shared<BenchModelSettings>();
  add_path(*command, "-o,--out", s->out, "Folder to create")->required()->type_name("FOLDER");
  add_text(*command, "--shape", s->shape, "llama-1b (1.04 B parameters; default), gpt2-small, tiny")
      ->type_name("NAME");
  add_choice<StoredType>(*command, "--dtype", s->type,
                         {{"f32", StoredType::f32},
                          {"f16", StoredType::f16},
                          {"bf16", StoredType::bf16},
                          {"int8", StoredType::int8}},
                         "Type of the matrices (default: bf16)");
  add_switch(*command, "--force", s->force, "Replace an existing folder (otherwise exit code 4)");
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
