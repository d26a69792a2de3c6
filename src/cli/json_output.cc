#include "cli/json_output.h"

#include <CLI/App.hpp>
#include <filesystem>
#include <span>

#include "cli/numbers.h"
#include "cli/terminal.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/json_writer.h"
#include "io/npy.h"
#include "serve/view_json.h"

namespace headlight::cli {

void add_json(CLI::App& command, JsonTarget& target, const char* force) {
  begin_group(command, "Output");
  const auto read = [&target](const std::string& text) {
    if (!is_json_target(text)) refuse_value("--json", text, "- or a file name that ends in .json");
    target.path = text;
  };
  add_reader(command, "--json", read, "Write results as JSON to standard output or a file")
      ->type_name("[FILE.json]");
  add_switch(command, "--force", target.force, force);
}

void add_arrays(CLI::App& command, std::string& folder, const std::string& what) {
  begin_group(command, "Output");
  add_path(command, "--npy", folder, concat("Write ", what, " and tokens.json to a folder"))
      ->type_name("FOLDER");
}

bool is_json_target(std::string_view text) noexcept { return text == "-" || text.ends_with(".json"); }

JsonOutput::JsonOutput(const JsonTarget& target) : target_(target), outputs_(target.existing()) {
  if (!target.path.empty() && !target.to_stdout()) outputs_.reserve(target.path);
}

void JsonOutput::write(const std::string& json) {
  if (target_.path.empty()) return;
  if (target_.to_stdout()) return print(json);
  outputs_.write(target_.path, std::as_bytes(std::span(json)));
  outputs_.commit();
}

void write_arrays(const std::string& folder, const JsonTarget& target, const std::vector<NamedTensor>& arrays,
                  const std::string& tokens_json) {
  if (folder.empty()) return;
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem)
    throw Error(ErrorKind::file, "file.create",
                concat(escaped(folder), ": ", problem.message(), " (cannot create this folder)"));
  io::Outputs outputs(target.existing());
  const auto path = [&](const std::string& name) { return (std::filesystem::path(folder) / name).string(); };
  for (const NamedTensor& array : arrays) outputs.reserve(path(array.name + ".npy"));
  outputs.reserve(path("tokens.json"));
  for (const NamedTensor& array : arrays)
    io::write_npy(outputs, path(array.name + ".npy"), array.tensor, array.tensor.shape());
  outputs.write(path("tokens.json"), std::as_bytes(std::span(tokens_json)));
  outputs.commit();
}

std::string tokens_json(const std::string& model, const std::vector<TokenList>& lists) {
  io::JsonWriter w;
  w.begin_object(io::JsonLayout::lines).field("model", model);
  for (const TokenList& list : lists) {
    serve::write_tokens(w.key(list.name), list.text, io::JsonLayout::lines);
  }
  return w.end_object().take_line();
}

std::vector<TokenList> token_lists(const Run& run) {
  std::vector<TokenList> lists = {{"source", run.source()}};
  if (!run.target().tokens.empty()) lists.push_back({"target", run.target()});
  else if (&run.position_tokens() != &run.source()) lists.push_back({"target", run.position_tokens()});
  return lists;
}

Tensor matrix_of(const draw::WeightMap& map) {
  Tensor out({map.rows(), map.columns()}, DType::f32);
  for (Index i = 0; i < map.rows(); ++i)
    for (Index j = 0; j < map.columns(); ++j) out.view().set(i, j, map.sees(i, j) ? map.weight(i, j) : 0);
  return out;
}

}  // namespace headlight::cli
