// The commands of the program. Each has its own file, registers itself with its options,
// and does its work in on_run(): at that point the whole command line has been checked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

// The parser's header takes longer to compile than most commands, and few files need more than its names.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace headlight::cli {

struct CommandText {
  std::string name;      // "compute"
  std::string what;      // one sentence for the list of commands
  std::string usage;     // "headlight compute --q Q.npy …": shown by --help and after a usage error
  std::string examples;  // the lines under EXAMPLES in --help
};
CLI::App* add_command(CLI::App& program, const CommandText& text);

// Options added from here on appear under this heading in --help; with Detail::full, only in --help-all.
enum class Detail { usual, full };
void begin_group(CLI::App& command, const std::string& heading, Detail detail = Detail::usual);
// Adds --threads.
void add_threads(CLI::App& command, std::int64_t& threads);

// The program with all its commands. run() returns the exit code and messages of a command line, except the output that
// the command itself prints. Failures are returned, not thrown.
struct CommandResult {
  int code = 0;
  std::string out = {}, err = {};
};
[[nodiscard]] std::shared_ptr<CLI::App> make_program();
[[nodiscard]] CommandResult run(CLI::App& program, int argc, const char* const* argv);

// The action of the command, called after the whole command line has been accepted.
void on_run(CLI::App& command, std::function<void()> work);
// The variables of a command's options live as long as the command, even if its action is dropped.
void keep_alive(CLI::App& command, std::shared_ptr<void> settings);

void add_compute(CLI::App& program);
void add_look(CLI::App& program);
void add_show(CLI::App& program);
void add_serve(CLI::App& program);
void add_explain(CLI::App& program);
void add_compare(CLI::App& program);
void add_heads_command(CLI::App& program);
void add_ablate(CLI::App& program);
void add_lab(CLI::App& program);
void add_learn(CLI::App& program);
void add_doctor(CLI::App& program);
void add_bench(CLI::App& program);
void add_train(CLI::App& program);
void add_plot(CLI::App& program);
void add_tokenizer(CLI::App& program);
void add_tokenize(CLI::App& program);
void add_translate(CLI::App& program);
void add_generate(CLI::App& program);
void add_evaluate(CLI::App& program);
void add_convert(CLI::App& program);
void add_bench_model(CLI::App& program);
void add_info(CLI::App& program);
void add_verify(CLI::App& program);
// help, and the hidden completion and man: made from the options of the others.
void add_help(CLI::App& program);

}  // namespace headlight::cli
