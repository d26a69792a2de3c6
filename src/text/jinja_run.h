// Shared by the parts of the interpreter: the meter, and operations on values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "text/jinja_value.h"

namespace headlight::text::jinja {

// Counts the steps and memory of a run, and tracks its line.
class Meter {
 public:
  Meter(const std::string& name, std::uint64_t steps) : name_(name), left_(steps) {}
  void at(int line) { line_ = line; }
  // One step is an operation, an element of a value that is visited, or some bytes of a text.
  void charge(std::uint64_t steps);
  void charge_bytes(std::size_t bytes) { charge(bytes / 16); }
  // A new value: refused when it is too large or nested too deeply.
  const Value& checked(const Value& value);
  [[noreturn]] void refuse(std::string_view what) const;

 private:
  const std::string& name_;
  std::uint64_t left_;
  int line_ = 0;
};

// "+", "-", "~", "*", "/", "//", "%".
[[nodiscard]] Value binary(Meter& meter, std::string_view with, const Value& left, const Value& right);
// "==", "<", "in", "not in" …
[[nodiscard]] bool compare(Meter& meter, std::string_view with, const Value& left, const Value& right);
// -1, 0 or 1 of numbers, texts and lists.
[[nodiscard]] int order(Meter& meter, const Value& left, const Value& right);
[[nodiscard]] bool contains(Meter& meter, const Value& all, const Value& part);
// An item by key or place; undefined when there is none.
[[nodiscard]] Value item_of(Meter& meter, const Value& all, const Value& key);
[[nodiscard]] Value slice_of(Meter& meter, const Value& all, const Value& from, const Value& to,
                             const Value& step);
// The items of a loop: of a list, keys of a mapping, characters of a text; none for undefined.
[[nodiscard]] List items_of(Meter& meter, const Value& all);
// The number of items; throws if it has none.
[[nodiscard]] std::int64_t length_of(Meter& meter, const Value& all);

[[nodiscard]] Value apply_filter(Meter& meter, std::string_view name, const Value& value,
                                 const Arguments& with);
[[nodiscard]] bool apply_test(Meter& meter, std::string_view name, const Value& value, const Arguments& with);
// Empty if values of this kind have no such method.
[[nodiscard]] std::optional<Value> call_method(Meter& meter, const Value& self, std::string_view name,
                                               const Arguments& with);

// Arguments of a kind; throws for others.
[[nodiscard]] const std::string& text_argument(const Meter& meter, const Arguments& with, std::size_t place,
                                               std::string_view name);
[[nodiscard]] std::int64_t integer_or(const Meter& meter, const Arguments& with, std::size_t place,
                                      std::string_view name, std::int64_t otherwise);

// White space at both ends, or one; or any of `characters`.
enum class Ends : std::uint8_t { left, right, both };
[[nodiscard]] std::string_view stripped(std::string_view text, Ends ends, const std::string* characters);
[[nodiscard]] std::string replaced(Meter& meter, std::string_view text, std::string_view old,
                                   std::string_view fresh, std::int64_t most);
[[nodiscard]] std::string in_case(std::string_view text,
                                  bool upper);  // ASCII, and characters with a simple lower case
[[nodiscard]] std::string title_of(std::string_view text);
[[nodiscard]] std::string capitalised(std::string_view text);

}  // namespace headlight::text::jinja
