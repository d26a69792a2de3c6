// The commands of the program. Each has its own file, adds itself to the program with its options,
// and does its work in the callback: by then the whole command line has been accepted.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace headlight::cli {

struct CommandText {
  std::string name;      // "compute"
  std::string what;      // one sentence for the list of commands
  std::string usage;     // "headlight compute --q Q.npy …": shown by --help and after a usage error
  std::string examples;  // the lines under EXAMPLES in --help
};
CLI::App* add_command(CLI::App& program, const CommandText& text);

void add_compute(CLI::App& program);
void add_explain(CLI::App& program);
void add_doctor(CLI::App& program);
void add_bench(CLI::App& program);

}  // namespace headlight::cli
