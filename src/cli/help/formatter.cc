#include "cli/help/formatter.h"

#include <algorithm>
#include <memory>

#include "core/concat.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kWidth = 80;

// Longer lines wrap below the start of their description.
std::string folded(std::string_view line, std::size_t column_of_text = kHelpColumn) {
  if (line.size() <= kWidth) return concat(line, "\n");
  constexpr std::string_view usage = "usage: ";
  const std::size_t indent = line.starts_with(' ')     ? column_of_text
                             : line.starts_with(usage) ? usage.size()
                                                       : 0;
  std::string out(line.substr(0, indent));
  line.remove_prefix(indent);
  for (std::size_t column = indent; !line.empty();) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(line.size(), word.size() + 1));
    if (column > indent && column + 1 + word.size() > kWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out + "\n";
}

// Examples are not wrapped, so that they can be copied. The notes below them are one paragraph.
std::string tidied_footer(std::string_view footer) {
  const std::size_t end = footer.rfind("\n\n");
  if (end == std::string_view::npos) return std::string(footer);
  std::string notes;
  for (std::string_view rest = footer.substr(end + 2); !rest.empty();) {
    const std::size_t line = std::min(rest.find('\n'), rest.size());
    const std::size_t begin = std::min(rest.find_first_not_of(' '), line);
    notes += concat(notes.empty() ? "  " : " ", rest.substr(begin, line - begin));
    rest.remove_prefix(std::min(rest.size(), line + 1));
  }
  return concat(footer.substr(0, end + 2), folded(notes, 2));
}

// One empty line between sections.
std::string tidied(std::string text) {
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
  while (text.ends_with("\n\n")) text.pop_back();
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    if (rest.starts_with("EXAMPLES\n")) return concat(out, tidied_footer(rest));
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    out += folded(rest.substr(0, end));
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  return out;
}

// The first examples, and the text after them.
std::string first_examples(std::string_view footer) {
  constexpr int most = 3;
  std::string out;
  int examples = 0;
  for (bool notes = false; !footer.empty();) {
    const std::size_t end = std::min(footer.find('\n'), footer.size() - 1);
    const std::string_view line = footer.substr(0, end + 1);
    footer.remove_prefix(end + 1);
    notes = notes || (line == "\n" && examples > 0);
    examples += line.starts_with("  headlight") ? 1 : 0;
    if (notes || examples <= most) out += line;
  }
  return out;
}

}  // namespace

std::vector<OptionGroup> option_groups(const CLI::App& app) {
  const std::shared_ptr<Help> help = help_of(app);
  std::vector<OptionGroup> groups;
  for (const std::string& heading : app.get_groups()) {
    if (heading.empty()) continue;
    OptionGroup group{heading, {}, help && help->is_rare(heading)};
    for (const CLI::Option* option : app.get_options())
      if (option->get_group() == heading && option->nonpositional() && option != app.get_help_ptr() &&
          option != app.get_help_all_ptr())
        group.options.push_back(option);
    if (!group.options.empty()) groups.push_back(std::move(group));
  }
  // Those of the full help stand behind the others; General is the last of each.
  std::stable_sort(groups.begin(), groups.end(), [](const OptionGroup& a, const OptionGroup& b) {
    const auto place = [](const OptionGroup& g) {
      return (g.rare ? 2 : 0) + (g.heading == "General" ? 1 : 0);
    };
    return place(a) < place(b);
  });
  return groups;
}

std::vector<const CLI::Option*> arguments_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::string Help::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  const bool full = mode == CLI::AppFormatMode::All;
  std::string out = make_description(app) + make_usage(app, std::move(name)) + make_positionals(app);
  std::size_t hidden = 0;
  for (const OptionGroup& group : option_groups(*app)) {
    if (full || !group.rare) out += make_group(group.heading, false, group.options);
    else hidden += group.options.size();
  }
  if (hidden > 0) out += concat("\n--help-all shows ", hidden, " more options.\n");
  const std::string footer = make_footer(app);
  return concat(out, make_subcommands(app, CLI::AppFormatMode::Normal), "\n",
                hidden > 0 ? first_examples(footer) : footer);
}

// Options that differ only in their names, such as --png, --svg and --pdf, share a line.
std::string Help::make_group(std::string heading, bool positional,
                             std::vector<const CLI::Option*> options) const {
  std::string out = concat("\n", heading, ":\n");
  for (std::size_t i = 0; i < options.size();) {
    const CLI::Option& first = *options[i];
    std::string names = "  " + first.get_name();
    std::size_t same = i + 1;
    for (; !positional && same < options.size() &&
           options[same]->get_description() == first.get_description() &&
           options[same]->get_type_name() == first.get_type_name();
         ++same)
      names += "|" + options[same]->get_name();
    if (same == i + 1) {
      out += make_option(&first, positional);
    } else {
      names += concat(" ", first.get_type_name(), " ");
      if (names.size() < kHelpColumn) names.resize(kHelpColumn, ' ');
      out += concat(names, " ", first.get_description(), "\n");
    }
    i = same;
  }
  return out;
}

std::shared_ptr<Help> help_of(const CLI::App& app) {
  return std::dynamic_pointer_cast<Help>(app.get_formatter());
}

std::string help_text(const CLI::App& app, Detail detail) {
  const auto mode = detail == Detail::full ? CLI::AppFormatMode::All : CLI::AppFormatMode::Normal;
  return tidied(app.get_formatter()->make_help(&app, app.get_name(), mode));
}

const CLI::App& chosen_command(const CLI::App& program) {
  const CLI::App* at = &program;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

std::string usage_of(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  if (!chosen.empty()) return usage_of(*chosen.front());
  std::string name;
  for (const CLI::App* at = &app; at->get_parent() != nullptr; at = at->get_parent())
    name = concat(" ", at->get_name(), name);
  name = "headlight" + name;
  const std::shared_ptr<Help> help = help_of(app);
  return concat("usage: ", help ? help->usage() : name, "\n       ", name, " --help\n");
}

CLI::App* add_command(CLI::App& program, const CommandText& text) {
  CLI::App* command = program.add_subcommand(text.name, text.what);
  command->formatter(std::make_shared<Help>(text.usage));
  command->footer("EXAMPLES\n" + text.examples);
  command->group(kNewCommand);
  return command;
}

void begin_group(CLI::App& command, const std::string& heading, Detail detail) {
  command.option_defaults()->group(heading);
  const std::shared_ptr<Help> help = help_of(command);
  if (help && detail == Detail::full) help->show_in_full_alone(heading);
}

std::vector<NamedCommand> commands_of(const CLI::App& program) {
  std::vector<NamedCommand> list;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group().empty()) continue;  // hidden
    list.push_back({command->get_name(), command});
    for (const NamedCommand& part : commands_of(*command))
      list.push_back({concat(command->get_name(), " ", part.name), part.app});
  }
  return list;
}

}  // namespace headlight::cli
