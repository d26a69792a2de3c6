// headlight help, and texts generated from the program's options: the table of options, completion, manual pages.
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <span>

#include "cli/help/formatter.h"
#include "cli/model_places.h"
#include "cli/numbers.h"
#include "cli/terminal.h"
#include "core/concat.h"
#include "core/escape.h"
#include "core/nearest.h"
#include "headlight/error.h"
#include "inspect/loaded_model.h"
#include "io/outputs.h"

namespace headlight::cli {
namespace {

struct HelpSettings {
  std::vector<std::string> command;
  bool all = false, table = false;
};

const CLI::App& program_of(const CLI::App& command) {
  const CLI::App* at = &command;
  while (at->get_parent() != nullptr) at = at->get_parent();
  return *at;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += concat(text.empty() ? "" : " ", word);
  return text;
}

NamedCommand find_command(const CLI::App& program, const std::string& name) {
  for (const NamedCommand& command : commands_of(program))
    if (command.name == name) return command;
  std::vector<std::string> names;
  for (const NamedCommand& command : commands_of(program)) names.push_back(command.name);
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view close = nearest_typed_name(name, known);
  throw Error(ErrorKind::usage, "help.command",
              concat("\"", escaped(name, 60), "\" is not a command; ",
                     close.empty() ? "headlight help lists them" : concat("did you mean ", close, "?")));
}

void run_help(const CLI::App& program, const HelpSettings& s) {
  if (s.table) return print(option_table(program));
  const Detail detail = s.all ? Detail::full : Detail::usual;
  const CLI::App& command = s.command.empty() ? program : *find_command(program, joined(s.command)).app;
  print(help_text(command, detail));
}

// Names that --model takes, one a line.
std::string model_names() {
  std::string text;
  for (const std::string& name : inspect::model_names(model_places())) text += escaped(name) + "\n";
  return text;
}

std::string file_of_page(const std::string& command) {
  std::string name = command.empty() ? "headlight" : "headlight-" + command;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name + ".1";
}

// Writes all of them to a folder, for installation.
void write_files(const std::string& folder, const std::vector<std::pair<std::string, std::string>>& files) {
  std::filesystem::create_directories(folder);
  io::Outputs outputs(io::Existing::replace);
  const auto path = [&](const std::string& name) { return (std::filesystem::path(folder) / name).string(); };
  for (const auto& [name, text] : files) outputs.reserve(path(name));
  for (const auto& [name, text] : files) outputs.write(path(name), std::as_bytes(std::span(text)));
  outputs.commit();
}

void write_pages(const CLI::App& program, const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> files = {
      {file_of_page(""), manual_page(program, {"", &program})}};
  for (const NamedCommand& command : commands_of(program))
    files.emplace_back(file_of_page(command.name), manual_page(program, command));
  write_files(folder, files);
}

void add_completion(CLI::App& program) {
  CLI::App* command =
      add_command(program, {.name = "completion",
                            .what = "Print a script that completes commands and options in a shell",
                            .usage = "headlight completion bash|zsh|fish|models [--all FOLDER]",
                            .examples = "  source <(headlight completion bash)\n"
                                        "  headlight completion models       names that --model takes\n"});
  command->group("");
  struct CompletionSettings {
    std::string shell, folder;
  };
  const auto s = std::make_shared<CompletionSettings>();
  add_choice<std::string>(*command, "SHELL", s->shell,
                          {{"bash", "bash"}, {"zsh", "zsh"}, {"fish", "fish"}, {"models", "models"}},
                          "The shell, or models");
  add_path(*command, "--all", s->folder, "Write the scripts of all shells into a folder");
  keep_alive(*command, s);
  on_run(*command, [command, s] {
    const CLI::App& root = program_of(*command);
    if (!s->folder.empty())
      return write_files(s->folder, {{"headlight", completion_script(root, "bash")},
                                     {"_headlight", completion_script(root, "zsh")},
                                     {"headlight.fish", completion_script(root, "fish")}});
    if (s->shell.empty()) need_option("SHELL");
    print(s->shell == "models" ? model_names() : completion_script(root, s->shell));
  });
}

void add_manual(CLI::App& program) {
  CLI::App* command = add_command(program, {.name = "man",
                                            .what = "Print the manual page of the program or of a command",
                                            .usage = "headlight man [COMMAND …] [--all FOLDER]",
                                            .examples = "  headlight man show | man -l -\n"});
  command->group("");
  struct ManualSettings {
    std::vector<std::string> command;
    std::string folder;
  };
  const auto s = std::make_shared<ManualSettings>();
  add_words(*command, "COMMAND", s->command, "The command (default: the program)");
  add_path(*command, "--all", s->folder, "Write all pages into a folder");
  keep_alive(*command, s);
  on_run(*command, [command, s] {
    const CLI::App& root = program_of(*command);
    if (!s->folder.empty()) return write_pages(root, s->folder);
    print(manual_page(root,
                      s->command.empty() ? NamedCommand{"", &root} : find_command(root, joined(s->command))));
  });
}

// Options that several commands have, each as the table names it and all of its forms.
struct Common {
  const char* heading;
  std::vector<std::string> names;
};
const std::array<Common, 7>& common_options() {
  static const std::array<Common, 7> common = {{{"`--model`", {"model"}},
                                                {"`--json`", {"json"}},
                                                {"`--npy`", {"npy"}},
                                                {"`--force`", {"force"}},
                                                {"`--png` `--svg` `--pdf`", {"png", "svg", "pdf"}},
                                                {"`--threads`", {"threads"}},
                                                {"`--color`", {"color"}}}};
  return common;
}

bool has_option(const CLI::App& app, const std::string& name) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& own : option->get_lnames())
      if (own == name) return true;
  return false;
}

}  // namespace

std::string option_table(const CLI::App& program) {
  std::string head = "| command |", line = "|---|";
  for (const Common& common : common_options()) {
    head += concat(" ", common.heading, " |");
    line += ":-:|";
  }
  std::string text = concat(head, "\n", line, "\n");
  for (const NamedCommand& command : commands_of(program)) {
    if (!commands_of(*command.app).empty()) continue;  // its parts have the options
    text += concat("| `", command.name, "` |");
    for (const Common& common : common_options()) {
      const bool all = std::all_of(common.names.begin(), common.names.end(),
                                   [&](const std::string& name) { return has_option(*command.app, name); });
      text += all ? " ✓ |" : " |";
    }
    text += "\n";
  }
  return text;
}

void add_help(CLI::App& program) {
  CLI::App* command =
      add_command(program, {.name = "help",
                            .what = "Show the help of a command",
                            .usage = "headlight help [COMMAND …] [--all]",
                            .examples = "  headlight help show\n"
                                        "  headlight help tokenizer train\n"
                                        "  headlight help show --all      including rarely used options\n"
                                        "  headlight help --table         common options by command\n"});
  const auto s = std::make_shared<HelpSettings>();
  add_words(*command, "COMMAND", s->command, "The command (default: the program)")->type_name("");
  add_switch(*command, "--all", s->all, "Show all options, like --help-all");
  add_switch(*command, "--table", s->table, "Print the table of common options as Markdown");
  keep_alive(*command, s);
  on_run(*command, [command, s] { run_help(program_of(*command), *s); });
  add_completion(program);
  add_manual(program);
}

}  // namespace headlight::cli
