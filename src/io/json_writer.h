// The only JSON writer of Headlight: strings, numbers, commas and line breaks. The result is always valid
// JSON: numbers that are not finite become null, bytes that are not UTF-8 become U+FFFD.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::io {

// A number with a given number of significant digits, or of decimals; or with as many decimals as needed, at least one.
struct Rounded {
  double value = 0;
  int digits = 6;
  enum class Form { significant, decimals, with_point } form = Form::significant;
};
[[nodiscard]] inline Rounded significant(double value, int digits) { return {value, digits}; }
[[nodiscard]] inline Rounded decimals(double value, int digits) {
  return {value, digits, Rounded::Form::decimals};
}
[[nodiscard]] inline Rounded with_point(double value) { return {value, 0, Rounded::Form::with_point}; }

// JSON from another writer.
struct JsonText {
  std::string_view text;
};

// Items on one line; on separate lines, indented by two spaces; or on one line without any spaces.
enum class JsonLayout { line, lines, tight };

class JsonWriter {
 public:
  JsonWriter& begin_object(JsonLayout layout = JsonLayout::line) { return begin('{', layout); }
  JsonWriter& end_object() { return end('}'); }
  JsonWriter& begin_list(JsonLayout layout = JsonLayout::line) { return begin('[', layout); }
  JsonWriter& end_list() { return end(']'); }
  JsonWriter& key(std::string_view name);

  // A bool, a number, a text, nullptr, Rounded, JsonText; an optional (empty: null); a list of any of these.
  template <class T>
  JsonWriter& value(const T& x) {
    if constexpr (std::same_as<T, bool>) return item(x ? "true" : "false");
    else if constexpr (std::same_as<T, std::nullptr_t>) return item("null");
    else if constexpr (std::same_as<T, Rounded>) return rounded(x);
    else if constexpr (std::same_as<T, JsonText>) return item(x.text);
    else if constexpr (std::same_as<T, float>)
      return real(x);  // fewer digits than the same number as a double
    else if constexpr (std::floating_point<T>) return real(static_cast<double>(x));
    else if constexpr (std::unsigned_integral<T>) return whole(static_cast<std::uint64_t>(x));
    else if constexpr (std::integral<T>) return whole(static_cast<std::int64_t>(x));
    else if constexpr (std::convertible_to<T, std::string_view>) return text(x);
    else if constexpr (requires { x.has_value(); }) return x.has_value() ? value(*x) : item("null");
    else return list(x);
  }
  template <class T>
  JsonWriter& field(std::string_view name, const T& x) {
    return key(name).value(x);
  }

  [[nodiscard]] std::string_view so_far() const noexcept { return text_; }
  // The whole text; all objects and lists must be closed.
  [[nodiscard]] std::string take();
  [[nodiscard]] std::string take_line() { return take() + "\n"; }

 private:
  struct Open {
    JsonLayout layout = JsonLayout::line;
    bool empty = true;
  };
  template <std::ranges::input_range List>
  JsonWriter& list(const List& items) {
    begin_list();
    for (const auto& x : items) value(x);
    return end_list();
  }
  JsonWriter& begin(char bracket, JsonLayout layout);
  JsonWriter& end(char bracket);
  JsonWriter& item(std::string_view json);
  JsonWriter& real(float x);
  JsonWriter& real(double x);
  JsonWriter& rounded(const Rounded& x);
  JsonWriter& whole(std::int64_t x);
  JsonWriter& whole(std::uint64_t x);
  JsonWriter& text(std::string_view x);
  void place();  // writes the separator between items
  void new_line();

  std::string text_;
  std::vector<Open> open_;
  std::size_t depth_ = 0;  // of lists with items on separate lines
  bool after_key_ = false;
};

}  // namespace headlight::io
