// The help of commands: options under headings, at most two screens; --help-all shows all options.
#pragma once

#include <CLI/App.hpp>
#include <set>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace headlight::cli {

inline constexpr std::size_t kHelpColumn = 26;  // where descriptions of options start

inline constexpr const char* kNewCommand = "Commands";  // group of commands without a group

// Lines of at most 80 columns. Commands write their own usage lines, which show which options belong together.
class Help : public CLI::Formatter {
 public:
  explicit Help(std::string usage) : usage_(std::move(usage)) {
    column_width(kHelpColumn);
    label("Positionals", "Arguments");
  }
  [[nodiscard]] const std::string& usage() const { return usage_; }
  void show_in_full_alone(const std::string& heading) { rare_.insert(heading); }
  [[nodiscard]] bool is_rare(const std::string& heading) const { return rare_.contains(heading); }

  std::string make_usage(const CLI::App*, std::string) const override;
  std::string make_group(std::string heading, bool positional,
                         std::vector<const CLI::Option*> options) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;

 private:
  std::string usage_;
  std::set<std::string> rare_;
};

[[nodiscard]] std::shared_ptr<Help> help_of(const CLI::App& app);
// The help of this command, not of the one on the command line.
[[nodiscard]] std::string help_text(const CLI::App& app, Detail detail);
[[nodiscard]] const CLI::App& chosen_command(const CLI::App& program);
// The usage of the command that was chosen, shown after an error.
[[nodiscard]] std::string usage_of(const CLI::App& app);

// The options of a command, for completion, manual pages and the table.
struct OptionGroup {
  std::string heading;
  std::vector<const CLI::Option*> options;  // without --help
  bool rare = false;
};
[[nodiscard]] std::vector<OptionGroup> option_groups(const CLI::App& app);
[[nodiscard]] std::vector<const CLI::Option*> arguments_of(const CLI::App& app);  // without dashes
// Commands that --help lists, with their subcommands: {"tokenizer", "tokenizer encode", …}.
struct NamedCommand {
  std::string name;
  const CLI::App* app;
};
[[nodiscard]] std::vector<NamedCommand> commands_of(const CLI::App& program);

[[nodiscard]] std::string completion_script(const CLI::App& program, const std::string& shell);
[[nodiscard]] std::string manual_page(const CLI::App& program, const NamedCommand& command);
// A Markdown table of the options that several commands share.
[[nodiscard]] std::string option_table(const CLI::App& program);

}  // namespace headlight::cli
