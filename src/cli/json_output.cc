#include "cli/json_output.h"

#include <CLI/App.hpp>
#include <span>

#include "cli/numbers.h"
#include "cli/terminal.h"

namespace headlight::cli {

void add_json(CLI::App& command, JsonTarget& target) {
  add_path(command, "--json", target.path, "Also write the results as JSON; -: to standard output, alone");
  add_switch(command, "--force", target.force, "Replace an existing JSON file (else: exit code 4)");
}

void add_json_beside_texts(CLI::App& command, JsonTarget& target) {
  const auto read = [&target](const std::string& text) {
    if (text != "-" && !text.ends_with(".json"))
      refuse_value("--json", text, "- or a file name that ends in .json");
    target.path = text;
  };
  command
      .add_option_function<std::string>("--json", read,
                                        "Write the results as JSON, to standard output or into a file")
      ->expected(0, 1)
      ->default_str("-")
      ->type_name("[FILE.json]");
  add_switch(command, "--force", target.force, "Replace an existing JSON file (else: exit code 4)");
}

JsonOutput::JsonOutput(const JsonTarget& target)
    : target_(target), outputs_(target.force ? io::Existing::replace : io::Existing::refuse) {
  if (!target.path.empty() && !target.to_stdout()) outputs_.reserve(target.path);
}

void JsonOutput::write(const std::string& json) {
  if (target_.path.empty()) return;
  if (target_.to_stdout()) return print(json);
  outputs_.write(target_.path, std::as_bytes(std::span(json)));
  outputs_.commit();
}

}  // namespace headlight::cli
