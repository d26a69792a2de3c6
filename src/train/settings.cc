#include "train/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

// Parser only. Errors in untrusted files are exceptions, so they cannot end the program.
#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include "core/concat.h"
#include "core/escape.h"
#include "core/nearest.h"
#include "headlight/error.h"
#include "io/file.h"

namespace headlight::train {
namespace {

constexpr std::uint64_t kLargest = std::uint64_t{1} << 20;  // a recipe is a page of text
constexpr int kDeepest = 16;

std::string list_text(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) text += concat(text.size() > 1 ? ", " : "", "\"", item, "\"");
  return text + "]";
}

}  // namespace

// Tables become dotted names.
class SettingsReader {
 public:
  explicit SettingsReader(Settings& to) : to_(to) {}

  void read(const toml::table& table, const std::string& prefix, int depth) {
    if (depth > kDeepest) refuse(prefix, "tables are nested too deeply");
    for (const auto& [key, node] : table) {
      const std::string name = prefix + std::string(key.str());
      if (const toml::table* inner = node.as_table()) read(*inner, name + ".", depth + 1);
      else to_.values_[name] = value(name, node);
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& name, const std::string& what) const { to_.refuse(name, what); }

  [[nodiscard]] Settings::Value value(const std::string& name, const toml::node& node) const {
    if (const auto* x = node.as_integer()) return x->get();
    if (const auto* x = node.as_floating_point()) return x->get();
    if (const auto* x = node.as_boolean()) return x->get();
    if (const auto* x = node.as_string()) return x->get();
    const toml::array* list = node.as_array();
    if (list == nullptr) refuse(name, "dates and times are not supported");
    if (!list->empty() && list->front().is_number()) return numbers(name, *list);
    std::vector<std::string> texts;
    for (const toml::node& item : *list) {
      const auto* text = item.as_string();
      if (text == nullptr) refuse(name, "a list may contain only strings or only numbers");
      texts.push_back(text->get());
    }
    return texts;
  }

  [[nodiscard]] std::vector<double> numbers(const std::string& name, const toml::array& list) const {
    std::vector<double> numbers;
    for (const toml::node& item : list) {
      const auto number = item.value<double>();
      if (!item.is_number() || !number) refuse(name, "a list may contain only strings or only numbers");
      numbers.push_back(*number);
    }
    return numbers;
  }

  Settings& to_;
};

Settings Settings::parse(std::string_view toml, const std::string& name) {
  Settings settings;
  settings.name_ = name;
  try {
    const toml::table table = toml::parse(toml, name);
    SettingsReader(settings).read(table, "", 0);
  } catch (const toml::parse_error& error) {
    throw Error(ErrorKind::input, "recipe.form",
                concat(escaped(name), ": ", escaped(error.description(), 160), " (line ",
                       error.source().begin.line, ")"));
  }
  return settings;
}

Settings Settings::read(const std::string& path) {
  const std::vector<std::byte> bytes = io::read_file(path, kLargest);
  return parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

void Settings::set(const std::string& assignment) {
  const std::size_t at = assignment.find('=');
  const std::string key = assignment.substr(0, at),
                    text = at == std::string::npos ? "" : assignment.substr(at + 1);
  const bool plain = std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
  if (at == std::string::npos || key.empty() || !plain) {
    throw Error(ErrorKind::usage, "recipe.set",
                concat("--set: \"", escaped(assignment, 80), "\" is not KEY=VALUE, such as model.width=256"));
  }
  values_.erase(key);
  if (text.empty()) return;
  try {
    Settings one = parse("x = " + text, "--set " + key);
    if (one.values_.size() == 1 && one.values_.count("x") == 1) {
      values_[key] = one.values_["x"];
      return;
    }
  } catch (const Error&) {  // a word without quotes
  }
  values_[key] = text;
}

void Settings::refuse(const std::string& key, const std::string& what) const {
  throw Error(ErrorKind::input, "recipe.value", concat(escaped(name_), ": ", escaped(key, 80), ": ", what));
}

const Settings::Value* Settings::ask(const std::string& key) {
  known_.push_back(key);
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> Settings::maybe_whole(const std::string& key, const WholeRange& range) {
  const Value* value = ask(key);
  if (value == nullptr) return std::nullopt;
  const auto* number = std::get_if<std::int64_t>(value);
  if (number == nullptr) refuse(key, "must be an integer");
  if (*number < range.least || *number > range.most)
    refuse(key, fmt::format("{} is not between {} and {}", *number, range.least, range.most));
  note(key, std::to_string(*number));
  return *number;
}

std::int64_t Settings::whole(const std::string& key, std::int64_t otherwise, const WholeRange& range) {
  if (const auto value = maybe_whole(key, range)) return *value;
  note(key, std::to_string(otherwise));
  return otherwise;
}

void Settings::check_range(const std::string& key, double number, const RealRange& range) const {
  if (number >= range.least && number <= range.most) return;
  refuse(key, range.most == RealRange{}.most
                  ? fmt::format("{} is not a number of {} or more", number, range.least)
                  : fmt::format("{} is not between {} and {}", number, range.least, range.most));
}

double Settings::real(const std::string& key, double otherwise, const RealRange& range) {
  const Value* value = ask(key);
  double number = otherwise;
  if (value != nullptr) {
    if (const auto* whole = std::get_if<std::int64_t>(value)) number = static_cast<double>(*whole);
    else if (const auto* real = std::get_if<double>(value)) number = *real;
    else refuse(key, "must be a number");
    check_range(key, number, range);
  }
  note(key, fmt::format("{}", number));
  return number;
}

std::optional<bool> Settings::maybe_boolean(const std::string& key) {
  const Value* value = ask(key);
  if (value == nullptr) return std::nullopt;
  const auto* flag = std::get_if<bool>(value);
  if (flag == nullptr) refuse(key, "must be true or false");
  note(key, *flag ? "true" : "false");
  return *flag;
}

bool Settings::boolean(const std::string& key, bool otherwise) {
  if (const auto value = maybe_boolean(key)) return *value;
  note(key, otherwise ? "true" : "false");
  return otherwise;
}

std::string Settings::text(const std::string& key, const std::string& otherwise) {
  const Value* value = ask(key);
  const auto* text = value == nullptr ? &otherwise : std::get_if<std::string>(value);
  if (text == nullptr) refuse(key, "must be a string in quotes");
  note(key, *text);
  return *text;
}

std::string Settings::choice(const std::string& key, const std::vector<std::string>& choices, bool required) {
  if (required && !has(key)) {
    known_.push_back(key);
    refuse(key, "is missing; it is one of " + list_text(choices));
  }
  std::string chosen = text(key, choices.front());
  if (std::find(choices.begin(), choices.end(), chosen) != choices.end()) return chosen;
  const std::vector<std::string_view> names(choices.begin(), choices.end());
  const std::string_view close = nearest_name(chosen, names);
  refuse(key, concat("\"", escaped(chosen, 60), "\" is not one of ", list_text(choices),
                     close.empty() ? std::string() : concat("; did you mean \"", close, "\"?")));
}

std::vector<std::string> Settings::texts(const std::string& key) {
  const Value* value = ask(key);
  std::vector<std::string> list;
  if (value != nullptr) {
    if (const auto* text = std::get_if<std::string>(value)) list = {*text};
    else if (const auto* texts = std::get_if<std::vector<std::string>>(value)) list = *texts;
    else refuse(key, "must be a string or a list of strings");
  }
  note(key, list_text(list));
  return list;
}

std::vector<double> Settings::reals(const std::string& key, const RealRange& range) {
  const Value* value = ask(key);
  std::vector<double> list;
  if (value != nullptr) {
    const auto* numbers = std::get_if<std::vector<double>>(value);
    if (numbers == nullptr) refuse(key, "must be a list of numbers");
    list = *numbers;
  }
  std::string text;
  for (const double number : list) {
    check_range(key, number, range);
    text += fmt::format("{}{}", text.empty() ? "" : ", ", number);
  }
  note(key, concat("[", text, "]"));
  return list;
}

std::vector<std::string> Settings::defaulted() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : facts_)
    if (!has(key)) keys.push_back(key);
  return keys;
}

void Settings::finish() const {
  for (const auto& [key, value] : values_) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const std::vector<std::string_view> names(known_.begin(), known_.end());
    const std::string_view close = nearest_name(key, names);
    throw Error(ErrorKind::input, "recipe.key",
                concat(escaped(name_), ": no setting is called \"", escaped(key, 80), "\"",
                       close.empty() ? std::string() : concat("; the closest is \"", close, "\"")));
  }
}

}  // namespace headlight::train
