#include "cli/numbers.h"

#include <CLI/App.hpp>
#include <charconv>
#include <cmath>

#include "cli/ranks.h"

namespace headlight::cli {
namespace {

// "-o,--out" is "--out" in messages.
std::string main_name(const std::string& names) {
  const std::size_t comma = names.rfind(',');
  return comma == std::string::npos ? names : names.substr(comma + 1);
}

Index read_count(const std::string& names, const std::string& text, CountLimits limits) {
  const std::optional<Index> value = parse_integer(text);
  if (!value || *value < limits.least || *value > limits.most) {
    const bool bounded = limits.most != CountLimits{}.most;
    refuse_value(names, text,
                 bounded ? concat("an integer from ", limits.least, " to ", limits.most)
                         : concat("an integer of at least ", limits.least, " that fits in memory"));
  }
  return *value;
}

}  // namespace

std::optional<Index> parse_integer(std::string_view text) {
  Index value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_real(std::string_view text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

Option* Option::required() {
  option_->required();
  return this;
}
Option* Option::type_name(const std::string& name) {
  option_->type_name(name);
  return this;
}
Option* Option::group(const std::string& name) {
  option_->group(name);
  return this;
}
Option* Option::one_at_a_time() {
  option_->allow_extra_args(false);
  return this;
}
Option* Option::alone(const std::string& value) {
  option_->expected(0, 1)->default_str(value);
  return this;
}

Option add_reader(CLI::App& command, const std::string& names,
                  const std::function<void(const std::string&)>& read, const std::string& description) {
  return Option(command.add_option_function<std::string>(names, read, description));
}
Option add_words(CLI::App& command, const std::string& names, std::string& value,
                 const std::string& description) {
  return Option(command.add_option(names, value, description));
}
Option add_words(CLI::App& command, const std::string& names, std::optional<std::string>& value,
                 const std::string& description) {
  return Option(command.add_option(names, value, description));
}
Option add_words(CLI::App& command, const std::string& names, std::vector<std::string>& values,
                 const std::string& description) {
  return Option(command.add_option(names, values, description));
}

void on_run(CLI::App& command, std::function<void()> work) {
  command.callback([name = command.get_name(), work = std::move(work)] {
    check_command_of_ranks(name);
    work();
  });
}
void keep_alive(CLI::App& command, std::shared_ptr<void> settings) {
  command.preparse_callback([settings = std::move(settings)](std::size_t /*arguments*/) {});
}

void add_threads(CLI::App& command, Index& threads) {
  begin_group(command, "General");
  add_count(command, "--threads", threads, "Threads (default: one per core)", {1, 1024});
}

void refuse_option(const std::string& name, const std::string& why) { throw CLI::ValidationError(name, why); }
void need_option(const std::string& name) { throw CLI::RequiredError(name); }
void refuse_value(const std::string& names, std::string_view text, std::string_view what) {
  throw CLI::ValidationError(main_name(names), concat("\"", escaped(text, 60), "\" is not ", what));
}

Option add_count(CLI::App& command, const std::string& names, Index& value, const std::string& description,
                 CountLimits limits) {
  const auto read = [&value, names, limits](const std::string& text) {
    value = read_count(names, text, limits);
  };
  return *add_reader(command, names, read, description)->type_name("N");
}

Option add_count(CLI::App& command, const std::string& names, std::optional<Index>& value,
                 const std::string& description, CountLimits limits) {
  const auto read = [&value, names, limits](const std::string& text) {
    value = read_count(names, text, limits);
  };
  return *add_reader(command, names, read, description)->type_name("N");
}

Option add_integer(CLI::App& command, const std::string& names, std::optional<Index>& value,
                   const std::string& description) {
  constexpr Index most = CountLimits{}.most;
  const auto read = [&value, names](const std::string& text) {
    value = read_count(names, text, {-most, most});
  };
  return *add_reader(command, names, read, description)->type_name("N");
}

Option add_real(CLI::App& command, const std::string& names, std::optional<double>& value,
                const std::string& description) {
  const auto read = [&value, names](const std::string& text) {
    value = parse_real(text);
    if (!value) refuse_value(names, text, "a finite number");
  };
  return *add_reader(command, names, read, description)->type_name("X");
}

Option add_path(CLI::App& command, const std::string& names, std::string& value,
                const std::string& description) {
  const auto read = [&value, names](const std::string& text) {
    // In `--q --k K.npy` the value of --q is missing; a file of that name is written as ./--k.
    if (text.empty() || text.starts_with("--")) refuse_value(names, text, "a file name");
    value = text;
  };
  return *add_reader(command, names, read, description)->type_name("FILE");
}

Option add_text(CLI::App& command, const std::string& names, std::string& value,
                const std::string& description) {
  const auto read = [&value, names](const std::string& text) {
    if (text.empty()) refuse_value(names, text, "a value");
    value = text;
  };
  return *add_reader(command, names, read, description)->type_name("TEXT");
}

Option add_switch(CLI::App& command, const std::string& names, bool& value, const std::string& description) {
  return Option(command.add_flag(names, value, description)
                    ->multi_option_policy(CLI::MultiOptionPolicy::Throw)
                    ->disable_flag_override());
}

}  // namespace headlight::cli
