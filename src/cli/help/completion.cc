// Shell completion scripts, with the commands, options and choices of this program.
#include <algorithm>
#include <cctype>

#include "cli/help/formatter.h"
#include "core/concat.h"
#include "lab/experiment.h"

namespace headlight::cli {
namespace {

enum class Takes { nothing, choices, model, folder, file, text };

Takes takes_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (option.get_items_expected_max() == 0) return Takes::nothing;
  if (type == "NAME|PATH") return Takes::model;
  if (type.find("FOLDER") != std::string::npos) return Takes::folder;
  if (type.find("FILE") != std::string::npos || type == "PATH") return Takes::file;
  const bool lower = std::none_of(type.begin(), type.end(), [](unsigned char c) { return std::isupper(c); });
  return lower && type.find('|') != std::string::npos ? Takes::choices : Takes::text;
}

std::string spaced(std::string choices) {
  std::replace(choices.begin(), choices.end(), '|', ' ');
  return choices;
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  std::vector<const CLI::Option*> all;
  for (const OptionGroup& group : option_groups(app))
    all.insert(all.end(), group.options.begin(), group.options.end());
  return all;
}

std::string option_words(const CLI::App& app) {
  std::string words;
  for (const CLI::Option* option : options_of(app))
    for (const std::string& name : names_of(*option)) words += name + " ";
  return words + "--help --help-all";
}

std::string sub_words(const CLI::App& app) {
  std::string words;
  for (const NamedCommand& command : commands_of(app))
    if (command.name.find(' ') == std::string::npos) words += concat(words.empty() ? "" : " ", command.name);
  return words;
}

// The values that can follow a command: its subcommands, the commands for help, experiments.
std::string argument_words(const CLI::App& program, const NamedCommand& command) {
  if (command.name == "help") return sub_words(program);
  if (command.name != "lab") return sub_words(*command.app);
  std::string words;
  for (const lab::Experiment& experiment : lab::experiments())
    words += concat(words.empty() ? "" : " ", experiment.name);
  return words;
}

// Commands with subcommands are identified by their first two words.
std::string bash(const CLI::App& program) {
  std::string cases, values;
  for (const NamedCommand& command : commands_of(program)) {
    const std::string parts = argument_words(program, command);
    cases += concat("    '", command.name, "') words='", parts, parts.empty() ? "" : " ",
                    option_words(*command.app), "' ;;\n");
    for (const CLI::Option* option : options_of(*command.app)) {
      std::string pattern;
      for (const std::string& name : names_of(*option))
        pattern += concat(pattern.empty() ? "" : "|", "'", command.name, " ", name, "'");
      switch (takes_of(*option)) {
        case Takes::nothing: break;
        case Takes::choices:
          values += concat("    ", pattern, ") COMPREPLY=($(compgen -W '", spaced(option->get_type_name()),
                           "' -- \"$cur\")); return ;;\n");
          break;
        case Takes::model:
          values += concat("    ", pattern,
                           ") COMPREPLY=($(compgen -W \"$(headlight completion models 2>/dev/null)\" -- "
                           "\"$cur\") $(compgen -f -- \"$cur\")); return ;;\n");
          break;
        case Takes::folder:
          values += concat("    ", pattern, ") COMPREPLY=($(compgen -d -- \"$cur\")); return ;;\n");
          break;
        case Takes::file:
          values += concat("    ", pattern, ") COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n");
          break;
        case Takes::text: values += concat("    ", pattern, ") return ;;\n"); break;
      }
    }
  }
  std::string two;
  for (const NamedCommand& command : commands_of(program))
    if (command.name.find(' ') != std::string::npos)
      two += concat(two.empty() ? "" : "|", "'", command.name, "'");
  return concat(
      "# bash completion of headlight, made by: headlight completion bash\n"
      "_headlight() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} "
      "words=\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W '",
      sub_words(program), " --help --version' -- \"$cur\"))\n    return\n  fi\n",
      "  if [ \"$COMP_CWORD\" -gt 2 ]; then\n    case \"$command ${COMP_WORDS[2]}\" in\n      ",
      two.empty() ? "''" : two, ") command=\"$command ${COMP_WORDS[2]}\" ;;\n    esac\n  fi\n",
      "  case \"$command $prev\" in\n", values, "  esac\n  case \"$command\" in\n", cases,
      "  esac\n"
      "  case $cur in\n"
      "    -*) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
      "    *) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\" | grep -v '^-') $(compgen -f -- \"$cur\")) ;;\n"
      "  esac\n"
      "}\n"
      "complete -o filenames -o bashdefault -F _headlight headlight\n");
}

// Text inside '…' of zsh's _arguments and of fish.
std::string quoted_text(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') out += "'\\''";
    else if (special.find(c) != std::string_view::npos) out += concat("\\", std::string_view(&c, 1));
    else out += c;
  }
  return out;
}

std::string zsh_value(const CLI::Option& option) {
  const std::string type = quoted_text(option.get_type_name(), "[]:\\");
  switch (takes_of(option)) {
    case Takes::nothing: return "";
    case Takes::choices: return concat(":", type, ":(", spaced(option.get_type_name()), ")");
    case Takes::model:
      return concat(":", type,
                    ":{ compadd -- ${(f)\"$(headlight completion models 2>/dev/null)\"}; _files }");
    case Takes::folder: return concat(":", type, ":_files -/");
    case Takes::file: return concat(":", type, ":_files");
    case Takes::text: return concat(":", type, ": ");
  }
  return "";
}

std::string zsh_arguments(const CLI::App& app, const std::string& words, std::string_view indent) {
  std::string text = concat(indent, "_arguments -s -S \\\n");
  for (const CLI::Option* option : options_of(app))
    for (const std::string& name : names_of(*option))
      text += concat(indent, "  '", name, "[", quoted_text(option->get_description(), "[]:\\"), "]",
                     zsh_value(*option), "' \\\n");
  return concat(text, indent, "  '--help[Show the help]' '--help-all[Show all options]' ",
                words.empty() ? std::string("'*:text:_files'") : concat("'1:name:(", words, ")'"), "\n");
}

std::string zsh_list(const CLI::App& app, std::string_view indent) {
  std::string text = concat(indent, "local -a commands=(\n");
  for (const NamedCommand& command : commands_of(app))
    if (command.name.find(' ') == std::string::npos)
      text +=
          concat(indent, "  '", command.name, ":", quoted_text(command.app->get_description(), "\\"), "'\n");
  return concat(text, indent, ")\n", indent, "_describe command commands\n");
}

std::string zsh(const CLI::App& program) {
  std::string text = concat(
      "#compdef headlight\n# zsh completion of headlight, made by: headlight completion zsh\n_headlight() {\n"
      "  if (( CURRENT == 2 )); then\n",
      zsh_list(program, "    "), "    return\n  fi\n  local command=$words[2]\n");
  text += "  case \"$command $words[3]\" in\n";
  for (const NamedCommand& command : commands_of(program))
    if (command.name.find(' ') != std::string::npos)
      text += concat("    '", command.name, "') if (( CURRENT > 3 )); then command='", command.name,
                     "'; shift words; (( CURRENT-- )); fi ;;\n");
  text += "  esac\n  shift words; (( CURRENT-- ))\n  case $command in\n";
  for (const NamedCommand& command : commands_of(program)) {
    const bool parts = !commands_of(*command.app).empty();
    text += concat("    '", command.name, "')\n",
                   parts ? zsh_list(*command.app, "      ")
                         : zsh_arguments(*command.app, argument_words(program, command), "      "),
                   "      ;;\n");
  }
  return concat(text, "  esac\n}\n_headlight \"$@\"\n");
}

std::string fish(const CLI::App& program) {
  std::string text = concat("# fish completion of headlight, made by: headlight completion fish\n",
                            "complete -c headlight -n __fish_use_subcommand -f\n");
  for (const NamedCommand& command : commands_of(program)) {
    const std::size_t space = command.name.find(' ');
    const std::string first = command.name.substr(0, space);
    const std::string where = space == std::string::npos ? concat("__fish_seen_subcommand_from ", first)
                                                         : concat("__fish_seen_subcommand_from ", first,
                                                                  "; and __fish_seen_subcommand_from ",
                                                                  command.name.substr(space + 1));
    text += concat(
        "complete -c headlight -n '",
        space == std::string::npos ? "__fish_use_subcommand" : concat("__fish_seen_subcommand_from ", first),
        "' -f -a ", command.name.substr(space == std::string::npos ? 0 : space + 1), " -d '",
        quoted_text(command.app->get_description(), "\\"), "'\n");
    if (commands_of(*command.app).empty())
      if (const std::string words = argument_words(program, command); !words.empty())
        text += concat("complete -c headlight -n '", where, "' -f -a '", words, "'\n");
    for (const CLI::Option* option : options_of(*command.app)) {
      text += concat("complete -c headlight -n '", where, "'");
      for (const std::string& name : option->get_snames()) text += " -s " + name;
      for (const std::string& name : option->get_lnames()) text += " -l " + name;
      switch (takes_of(*option)) {
        case Takes::nothing: break;
        case Takes::choices: text += concat(" -x -a '", spaced(option->get_type_name()), "'"); break;
        case Takes::model: text += " -r -a '(headlight completion models 2>/dev/null)'"; break;
        case Takes::folder: text += " -x -a '(__fish_complete_directories)'"; break;
        case Takes::file: text += " -r"; break;
        case Takes::text: text += " -x"; break;
      }
      text += concat(" -d '", quoted_text(option->get_description(), "\\"), "'\n");
    }
  }
  return text;
}

}  // namespace

std::string completion_script(const CLI::App& program, const std::string& shell) {
  return shell == "bash" ? bash(program) : shell == "zsh" ? zsh(program) : fish(program);
}

}  // namespace headlight::cli
