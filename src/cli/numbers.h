// Options with numbers, paths or words as values, parsed strictly: the whole text must be the
// value, an option may be given once, and every error is a usage error that quotes the text.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "core/concat.h"
#include "core/escape.h"
#include "headlight/tensor.h"

namespace headlight::cli {

// Decimal digits only, a minus sign where allowed. Not `1e3`, `0x10`, `+1`, `1 ` or nothing.
[[nodiscard]] std::optional<Index> parse_integer(std::string_view text);
// Decimal, with or without exponent; finite. Not `nan`, `inf`, `1.0x`, or `1e999`.
[[nodiscard]] std::optional<double> parse_real(std::string_view text);

// The option that was just added, for further settings: add_path(…)->required().
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option* operator->() { return this; }
  Option* required();
  Option* type_name(const std::string& name);
  Option* group(const std::string& name);   // the heading in --help
  Option* one_at_a_time();                  // repeatable, instead of a list of values
  Option* alone(const std::string& value);  // without a value, the option has this one

 private:
  CLI::Option* option_;
};
// Passes the whole text to `read`, which throws for invalid values.
Option add_reader(CLI::App& command, const std::string& names,
                  const std::function<void(const std::string&)>& read, const std::string& description);
// One or several strings.
Option add_words(CLI::App& command, const std::string& names, std::string& value,
                 const std::string& description);
Option add_words(CLI::App& command, const std::string& names, std::optional<std::string>& value,
                 const std::string& description);
Option add_words(CLI::App& command, const std::string& names, std::vector<std::string>& values,
                 const std::string& description);

struct CountLimits {
  Index least = 0;
  Index most = std::numeric_limits<Index>::max() / 8;  // prevents overflow when a few are added
};
Option add_count(CLI::App& command, const std::string& names, Index& value, const std::string& description,
                 CountLimits limits = {});
Option add_count(CLI::App& command, const std::string& names, std::optional<Index>& value,
                 const std::string& description, CountLimits limits = {});
// May be negative.
Option add_integer(CLI::App& command, const std::string& names, std::optional<Index>& value,
                   const std::string& description);
Option add_real(CLI::App& command, const std::string& names, std::optional<double>& value,
                const std::string& description);
Option add_path(CLI::App& command, const std::string& names, std::string& value,
                const std::string& description);
Option add_text(CLI::App& command, const std::string& names, std::string& value,
                const std::string& description);
Option add_switch(CLI::App& command, const std::string& names, bool& value, const std::string& description);

// Usage errors, which end in exit code 2: "--threads: WHY", "--threads is required", "--threads: "abc" is not WHAT".
[[noreturn]] void refuse_option(const std::string& name, const std::string& why);
[[noreturn]] void need_option(const std::string& name);
[[noreturn]] void refuse_value(const std::string& names, std::string_view text, std::string_view what);

template <class T>
using Choices = std::vector<std::pair<std::string, T>>;

template <class T>
Option add_choice(CLI::App& command, const std::string& names, T& value, const Choices<T>& choices,
                  const std::string& description) {
  std::string listed;
  for (const auto& choice : choices) listed += concat(listed.empty() ? "" : "|", choice.first);
  const auto read = [&value, choices, names, listed](const std::string& text) {
    for (const auto& choice : choices) {
      if (choice.first == text) {
        value = choice.second;
        return;
      }
    }
    refuse_value(names, text, concat("one of ", listed));
  };
  return *add_reader(command, names, read, description)->type_name(listed);
}

}  // namespace headlight::cli
