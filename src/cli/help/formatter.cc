#include "cli/help/formatter.h"

#include <algorithm>
#include <memory>

#include "core/concat.h"
#include "draw/text.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kWidth = 80;

std::size_t width_of(std::string_view text) { return static_cast<std::size_t>(draw::display_width(text)); }

// The end of the first word. In a usage line, a bracket with its contents is one word.
std::size_t word_end(std::string_view line, bool usage) {
  int depth = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (usage && line[i] == '[') ++depth;
    if (usage && line[i] == ']') --depth;
    if (line[i] == ' ' && depth == 0) return i;
  }
  return line.size();
}

// Wraps a line at 80 columns, at spaces after its first `kept` bytes, and indents further lines by `indent`.
std::string wrapped(std::string_view line, std::size_t kept, std::size_t indent, bool usage = false) {
  if (width_of(line) <= kWidth) return concat(line, "\n");
  kept = std::min(kept, line.size());
  std::string out(line.substr(0, kept));
  std::size_t column = width_of(out);
  line.remove_prefix(kept);
  for (bool first = true; !line.empty(); first = false) {
    const std::string_view word = line.substr(0, word_end(line, usage));
    line.remove_prefix(std::min(line.size(), word.size() + 1));
    if (!first && column + 1 + width_of(word) > kWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += width_of(word);
  }
  return out + "\n";
}

// One form of a command on each line; longer ones continue below their first argument.
std::string wrapped_usage(std::string_view usage) {
  constexpr std::string_view kFirst = "usage: ";
  std::string out;
  for (std::string_view begin = kFirst; !usage.empty(); begin = "       ") {
    const std::size_t end = std::min(usage.find('\n'), usage.size());
    std::string_view form = usage.substr(0, end);
    form.remove_prefix(std::min(form.find_first_not_of(' '), form.size()));
    const std::size_t command = std::min(form.find(' ', form.find(' ') + 1), form.size() - 1) + 1;
    out += wrapped(concat(begin, form), begin.size() + command, begin.size() + command, true);
    usage.remove_prefix(std::min(usage.size(), end + 1));
  }
  return out;
}

// Names in the first column, descriptions in the second; long names have a separate line.
std::string entry(std::string names, const std::string& description) {
  names = concat("  ", names);
  const bool alone = width_of(names) + 1 > kHelpColumn;
  const std::string line = concat(std::string(kHelpColumn - (alone ? 0 : width_of(names)), ' '), description);
  return alone ? concat(names, "\n", wrapped(line, kHelpColumn, kHelpColumn))
               : wrapped(concat(names, line), names.size() + line.size() - description.size(), kHelpColumn);
}

// Examples are not wrapped, so that they can be copied. The notes after them are one paragraph.
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
  return concat(footer.substr(0, end + 2), wrapped(notes, 2, 2));
}

// One empty line between sections.
std::string tidied(std::string text) {
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
  while (text.ends_with("\n\n")) text.pop_back();
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    if (rest.starts_with("EXAMPLES\n")) return concat(out, tidied_footer(rest));
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    out += line.starts_with(' ') ? concat(line, "\n") : wrapped(line, 0, 0);
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
  // Groups of the full help come after the others, and General is the last of each.
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

std::string Help::make_usage(const CLI::App*, std::string) const { return "\n" + wrapped_usage(usage_); }

// Options that differ only in their names, such as --png, --svg and --pdf, share an entry. The usage line shows the kind of
// argument.
std::string Help::make_group(std::string heading, bool positional,
                             std::vector<const CLI::Option*> options) const {
  std::string out = concat("\n", heading, ":\n");
  for (std::size_t i = 0; i < options.size();) {
    const CLI::Option& option = *options[i];
    const std::string& description = option.get_description();
    const bool repeated = option.get_expected_max() == CLI::detail::expected_max_vector_size;
    std::string names = option.get_name(positional, !positional);
    for (++i; !positional && i < options.size() && options[i]->get_description() == description &&
              options[i]->get_type_name() == option.get_type_name();
         ++i)
      names += "|" + options[i]->get_name();
    if (!positional && option.get_type_size() != 0) names += " " + option.get_type_name();
    if (repeated) names += " …";
    out += entry(names, concat(description, option.get_required() && !positional ? " (required)" : ""));
  }
  return out;
}

std::string Help::make_subcommand(const CLI::App* command) const {
  return entry(command->get_name(), command->get_description());
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
  return concat(wrapped_usage(help ? help->usage() : name), "       ", name, " --help\n");
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
