// Where a command's JSON goes: nowhere, to a file that is written whole, or to standard output.
#pragma once

#include <memory>
#include <string>

#include "cli/commands.h"
#include "io/outputs.h"

namespace headlight::cli {

struct JsonTarget {
  std::string path;  // empty: no JSON; "-": standard output, which then gets nothing else
  bool force = false;
  [[nodiscard]] bool to_stdout() const { return path == "-"; }
};

// Adds --json and --force.
void add_json(CLI::App& command, JsonTarget& target);

// The same for commands that take texts: --json alone, or with -, is standard output; a file's name ends in
// .json, so that a text is never taken for one.
void add_json_beside_texts(CLI::App& command, JsonTarget& target);

class JsonOutput {
 public:
  // Refuses a file that could not be written, before any work is done.
  explicit JsonOutput(const JsonTarget& target);
  void write(const std::string& json);

 private:
  const JsonTarget& target_;
  io::Outputs outputs_;
};

}  // namespace headlight::cli
