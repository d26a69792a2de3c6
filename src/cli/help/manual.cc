// Manual pages in the man(7) macros, generated from the texts of --help.
#include "cli/help/formatter.h"
#include "core/concat.h"
#include "headlight/version.h"

namespace headlight::cli {
namespace {

// In roff, a backslash begins a command, a dash is a hyphen unless escaped, and a line must not begin with a
// point or an apostrophe.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
      out += concat("\\&", std::string_view(&c, 1));
    else out += c;
  }
  return out;
}

std::string section(std::string_view name, std::string_view text) { return concat(".SH ", name, "\n", text); }

std::string option_entry(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames())
    names += concat(names.empty() ? "" : ", ", "\\fB", roff("-" + name), "\\fR");
  for (const std::string& name : option.get_lnames())
    names += concat(names.empty() ? "" : ", ", "\\fB", roff("--" + name), "\\fR");
  if (names.empty()) names = concat("\\fI", roff(option.get_name(true)), "\\fR");
  else if (option.get_items_expected_max() > 0 && !option.get_type_name().empty())
    names += concat(" \\fI", roff(option.get_type_name()), "\\fR");
  return concat(".TP\n", names, "\n", roff(option.get_description()), "\n");
}

// One line for each form: below "usage: " they are indented.
std::string synopsis_of(std::string usage) {
  constexpr std::string_view indented = "\n       ";
  for (std::size_t at = usage.find(indented); at != std::string::npos; at = usage.find(indented, at))
    usage.replace(at, indented.size(), "\n");
  return usage;
}

std::string examples_of(const CLI::App& app) {
  constexpr std::string_view heading = "EXAMPLES\n";
  std::string text = app.get_footer();
  if (text.starts_with(heading)) text.erase(0, heading.size());
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

std::string manual_page(const CLI::App& program, const NamedCommand& command) {
  const bool whole = command.app == &program;
  std::string name = whole ? "headlight" : "headlight-" + command.name;
  for (char& c : name) c = c == ' ' ? '-' : c;
  const std::shared_ptr<Help> help = help_of(*command.app);
  std::string page = concat(".TH \"", roff(name), "\" 1 \"\" \"headlight ", kVersion, "\" \"Headlight\"\n");
  page += section("NAME", concat(roff(name), " \\- ", roff(command.app->get_description()), "\n"));
  page += section("SYNOPSIS", concat(".nf\n", roff(synopsis_of(help ? help->usage() : name)), "\n.fi\n"));
  std::string arguments;
  for (const CLI::Option* option : arguments_of(*command.app)) arguments += option_entry(*option);
  if (!arguments.empty()) page += section("ARGUMENTS", arguments);
  std::string options;
  for (const OptionGroup& group : option_groups(*command.app)) {
    options += concat(".SS ", roff(group.heading), "\n");
    for (const CLI::Option* option : group.options) options += option_entry(*option);
  }
  if (!options.empty()) page += section("OPTIONS", options);
  std::string commands;
  for (const NamedCommand& part : commands_of(*command.app))
    if (part.name.find(' ') == std::string::npos)
      commands += concat(".TP\n\\fB", roff(part.name), "\\fR\n", roff(part.app->get_description()), "\n");
  if (!commands.empty()) page += section("COMMANDS", commands);
  page += section(whole ? "EXIT STATUS" : "EXAMPLES",
                  concat(".nf\n", roff(examples_of(*command.app)), "\n.fi\n"));
  if (!whole) page += section("SEE ALSO", ".BR headlight (1)\n");
  return page;
}

}  // namespace headlight::cli
