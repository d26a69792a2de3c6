// headlight convert: a model's folder, or its .gguf file, with its matrices in another precision.
#include "models/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/model_input.h"
#include "cli/model_places.h"
#include "cli/numbers.h"
#include "cli/terminal.h"
#include "headlight/context.h"
#include "headlight/error.h"
#include "inspect/loaded_model.h"
#include "io/json_writer.h"
#include "models/convert_gguf.h"

namespace headlight::cli {
namespace {

using models::StoredAs;

struct Settings {
  std::string model, out, adapter;
  StoredType type = StoredType::f16;
  JsonTarget json;
};

double megabytes(std::int64_t bytes) { return static_cast<double>(bytes) * 1e-6; }
bool is_gguf(const std::string& path) { return path.ends_with(".gguf"); }

StoredAs type_in_folder(StoredType type) {
  switch (type) {
    case StoredType::f32: return StoredAs::f32;
    case StoredType::f16: return StoredAs::f16;
    case StoredType::bf16: return StoredAs::bf16;
    case StoredType::int8: return StoredAs::int8;
    default: break;
  }
  throw Error(ErrorKind::usage, "convert.type",
              fmt::format("{} is for .gguf files, and the result is a folder; choose f32, f16, bf16 or int8",
                          name_of(type)));
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i)
    text += fmt::format("{}{}", i > 0 ? ", " : "", escaped(names[i], 60));
  return names.size() > kShown ? text + fmt::format(" and {} more", names.size() - kShown) : text;
}

// The fields that folders and .gguf files share; `matrices` counts those that were converted.
template <class Done>
void write_sizes(io::JsonWriter& w, const std::string& from, const Settings& s, const Done& done,
                 std::size_t matrices) {
  w.begin_object(io::JsonLayout::lines).field("input", from).field("output", s.out);
  w.field("dtype", name_of(s.type)).field("tensors", done.tensors).field("matrices", matrices);
  w.field("bytes_before", done.bytes_before).field("bytes_after", done.bytes_after);
}

std::string json(const std::string& from, const Settings& s, const models::Converted& done) {
  io::JsonWriter w;
  write_sizes(w, from, s, done, static_cast<std::size_t>(done.matrices));
  w.field("relative_error", done.relative_error).field("merged", done.merged);
  w.field("copied", done.copied).field("left_out", done.left_out).field("notices", done.notices);
  return w.end_object().take_line();
}

std::string json(const std::string& from, const Settings& s, const models::ConvertedGguf& done) {
  io::JsonWriter w;
  write_sizes(w, from, s, done, done.matrices.size());
  w.key("errors").begin_list(io::JsonLayout::lines);
  for (const models::ConvertedMatrix& m : done.matrices)
    w.begin_object()
        .field("name", m.name)
        .field("before", m.before)
        .field("after", m.after)
        .field("relative_error", m.relative_error)
        .end_object();
  return w.end_list().end_object().take_line();
}

void convert_folder(const std::string& from, const Settings& s) {
  JsonOutput output(s.json);
  const models::ConvertOptions options{
      .type = type_in_folder(s.type), .replace = s.json.force, .adapter = s.adapter};
  const models::Converted done = is_gguf(from) ? models::convert_to_folder(from, s.out, options)
                                               : models::convert_folder(from, s.out, options);
  output.write(json(from, s, done));
  if (s.json.to_stdout()) return;
  print(fmt::format("{}: {} tensors, {} matrices in {}; {:.1f} MB, was {:.1f} MB\n", escaped(s.out),
                    done.tensors, done.matrices, models::name_of(options.type), megabytes(done.bytes_after),
                    megabytes(done.bytes_before)));
  if (done.merged > 0) print(fmt::format("  {} matrices merged with the adapter\n", done.merged));
  print(fmt::format("  relative error of the matrices {:.2g}\n", done.relative_error));
  print(fmt::format("  {}: {}\n", is_gguf(from) ? "also written" : "copied",
                    done.copied.empty() ? "nothing else" : listed(done.copied)));
  for (const std::string& notice : done.notices) print(fmt::format("  {}\n", escaped(notice)));
  if (!done.left_out.empty())
    print(fmt::format("  left out because they are not floats: {}\n", listed(done.left_out)));
}

// One line per matrix with its error, to judge the file before using it.
void convert_file(const std::string& from, const Settings& s) {
  JsonOutput output(s.json);
  Context ctx;
  const models::ConvertedGguf done = models::convert_gguf(ctx, from, {s.out, s.type, s.json.force});
  output.write(json(from, s, done));
  if (s.json.to_stdout()) return;
  std::size_t width = 0;
  for (const models::ConvertedMatrix& m : done.matrices) width = std::max(width, escaped(m.name, 60).size());
  for (const models::ConvertedMatrix& m : done.matrices)
    print(fmt::format("  {:<{}}  {:>6} -> {:<5}  relative error {:.2g}\n", escaped(m.name, 60), width,
                      m.before, m.after, m.relative_error));
  print(fmt::format("{}: {} tensors, {} matrices converted; {:.1f} MB, was {:.1f} MB\n", escaped(s.out),
                    done.tensors, done.matrices.size(), megabytes(done.bytes_after),
                    megabytes(done.bytes_before)));
}

void run(const Settings& s) {
  if (s.model.empty()) need_option("MODEL");
  const std::string from = inspect::find_model(s.model, model_places());
  if (!is_gguf(from) && is_gguf(s.out))
    throw Error(
        ErrorKind::usage, "convert.format",
        fmt::format("{}: a folder is converted to a folder; choose a name without .gguf", escaped(s.out)));
  if (is_gguf(s.out) && !s.adapter.empty())
    throw Error(ErrorKind::usage, "convert.adapter",
                "--adapter: an adapter can be merged into a folder only, and this model is a .gguf file");
  if (is_gguf(s.out)) convert_file(from, s);
  else convert_folder(from, s);
}

}  // namespace

void add_convert(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "convert",
       .what = "Convert the matrices of a model to another precision",
       .usage = "headlight convert MODEL -o FOLDER|FILE.gguf [--dtype TYPE] [--adapter FOLDER] "
                "[--json [FILE.json]] [--force]",
       .examples =
           "  headlight convert gpt2 -o gpt2-bf16 --dtype bf16\n"
           "  headlight convert runs/stories/best -o models/stories --dtype int8\n"
           "  headlight convert model-f16.gguf -o model-q4_k.gguf --dtype q4_k\n"
           "  headlight convert model-q8_0.gguf -o model-folder --dtype bf16\n"
           "\n"
           "  Vectors, norms and small tables stay f32. int8 is for folders and has one f32 scale per row\n"
           "  (docs/guide/weights.md describes the format). q8_0, q6_k and q4_k are for .gguf files; the "
           "error\n"
           "  of each matrix is printed.\n"});
  const auto s = std::make_shared<Settings>();
  add_model_or(*command, "MODEL", s->model, "Model name, folder with safetensors, or .gguf file");
  add_path(*command, "-o,--out", s->out, "The folder or .gguf file to write")->required()->type_name("PATH");
  add_choice<StoredType>(*command, "--dtype", s->type,
                         {{"f32", StoredType::f32},
                          {"f16", StoredType::f16},
                          {"bf16", StoredType::bf16},
                          {"int8", StoredType::int8},
                          {"q8_0", StoredType::q8_0},
                          {"q6_k", StoredType::q6_k},
                          {"q4_k", StoredType::q4_k}},
                         "Type of the matrices (default: f16)");
  add_path(*command, "--adapter", s->adapter, "Merge this adapter into the matrices")->type_name("FOLDER");
  add_json(*command, s->json);
  keep_alive(*command, s);
  on_run(*command, [s] { run(*s); });
}

}  // namespace headlight::cli
