// headlight info and headlight verify: describe a model's files, and check them against the format rules.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/info/file_report.h"
#include "cli/json_output.h"
#include "cli/model_input.h"
#include "cli/model_places.h"
#include "cli/numbers.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "headlight/error.h"
#include "io/npy.h"

namespace headlight::cli {
namespace {

struct InfoSettings {
  std::string path, tensor, npy;
  bool list = false, scan = false, rules = false;
  JsonTarget json;
};

// A file by its path; a model by its folder or its name.
std::string files_of(const InfoSettings& s) {
  if (s.path.empty()) need_option("PATH");
  return find_files(s.path);
}

void run_tensor(const InfoSettings& s, JsonOutput& json) {
  io::Outputs outputs(s.json.existing());
  std::string file = s.npy;
  if (!file.empty() && !file.ends_with(".npy")) {
    std::filesystem::create_directories(file);
    file = (std::filesystem::path(file) / (s.tensor + ".npy")).string();
  }
  if (!file.empty()) outputs.reserve(file);
  const models::LoadedTensor loaded = models::load_tensor(files_of(s), s.tensor);
  if (!file.empty()) {
    io::write_npy(outputs, file, loaded.tensor, loaded.shape);
    outputs.commit();
  }
  json.write(tensor_json(loaded));
  if (!s.json.to_stdout()) print(tensor_text(loaded));
}

void run_info(const InfoSettings& s) {
  const std::string path = files_of(s);
  if (!s.npy.empty() && s.tensor.empty())
    throw Error(ErrorKind::usage, "info.options", "--npy needs --tensor NAME");
  JsonOutput json(s.json);
  if (!s.tensor.empty()) return run_tensor(s, json);
  const models::FileInfo info =
      models::describe_file(path, s.scan ? models::Count::all : models::Count::small_files);
  json.write(info_json(info));
  if (!s.json.to_stdout()) print(info_text(info, s.list ? ListTensors::yes : ListTensors::no));
  for (const std::string& note : info.notices) print_error(concat("note: ", note, "\n"));
}

void run_verify(const InfoSettings& s) {
  if (s.rules) {
    for (const models::Rule& rule : models::rules()) print(fmt::format("{:<4} {}\n", rule.id, rule.says));
    return;
  }
  const std::string path = files_of(s);
  JsonOutput json(s.json);
  const models::Verdict verdict = models::verify(path);
  json.write(verdict_json(verdict));
  if (!s.json.to_stdout()) print(verdict_text(verdict));
  for (const std::string& note : verdict.notices) print_error(concat("note: ", note, "\n"));
  if (!verdict.refusal) return;
  const Error& refusal = *verdict.refusal;
  const std::string rule =
      verdict.rule == nullptr ? "" : fmt::format("\nRule {}: {}.", verdict.rule->id, verdict.rule->says);
  throw Error(refusal.kind(), refusal.code(), refusal.what() + rule);
}

}  // namespace

void add_info(CLI::App& program) {
  CLI::App* command = add_command(
      program, {.name = "info",
                .what = "Describe a model: architecture, parameters, memory",
                .usage = "headlight info NAME|PATH [--json] [--tensors] [--tensor NAME [--npy PATH]]",
                .examples = "  headlight info en-fr\n"
                            "  headlight info models/gpt2\n"
                            "  headlight info llama.gguf --json\n"
                            "  headlight info llama.gguf --tensor blk.0.attn_q.weight --npy q.npy\n"
                            "\n"
                            "  Reads headers only; files of up to 256 MiB are also searched for NaN.\n"});
  const auto s = std::make_shared<InfoSettings>();
  add_model_or(*command, "PATH", s->path, "Model name or folder; .safetensors, .gguf, .npy file");
  add_switch(*command, "--tensors", s->list, "List all tensors");
  add_text(*command, "--tensor", s->tensor, "Summarise the numbers of one tensor")->type_name("NAME");
  add_switch(*command, "--scan", s->scan, "Also search large files for NaN");
  begin_group(*command, "Output");
  add_path(*command, "--npy", s->npy, "With --tensor: write floats to FILE.npy or FOLDER/NAME.npy")
      ->type_name("PATH");
  add_json(*command, s->json);
  keep_alive(*command, s);
  on_run(*command, [s] { run_info(*s); });
}

void add_verify(CLI::App& program) {
  CLI::App* command = add_command(
      program,
      {.name = "verify",
       .what = "Check the files of a model against every format rule",
       .usage = "headlight verify NAME|PATH [--json]",
       .examples = "  headlight verify models/gpt2\n"
                   "  headlight verify downloaded.gguf --json\n"
                   "  headlight verify --rules\n"
                   "\n"
                   "  Exit code 0: valid. 3: invalid, with the broken rule.\n"
                   "  A GGUF file with token_embd.weight is checked as a model, one with a vocabulary\n"
                   "  as a vocabulary, any other as a plain container.\n"});
  const auto s = std::make_shared<InfoSettings>();
  add_model_or(*command, "PATH", s->path, "Model name or folder; .safetensors, .gguf, .npy file");
  add_switch(*command, "--rules", s->rules, "List all rules");
  add_json(*command, s->json);
  keep_alive(*command, s);
  on_run(*command, [s] { run_verify(*s); });
}

}  // namespace headlight::cli
