#include "io/json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/escape.h"
#include "io/json.h"

namespace headlight::io {
namespace {

void append_quoted(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto plain = [](char c) {
    return static_cast<signed char>(c) >= ' ' && c != '"' && c != '\\' && c != 0x7F;
  };  // not beyond ASCII
  out += '"';
  while (!text.empty()) {
    const auto end =
        static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), plain) - text.begin());
    out += text.substr(0, end);
    text.remove_prefix(end);
    if (text.empty()) break;
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(1, length));
    text.remove_prefix(character.size());
    const char c = character[0];
    const auto byte = static_cast<unsigned char>(c);
    if (length == 0) out += "\\ufffd";  // invalid UTF-8 would make the whole document invalid
    else if (c == '"' || c == '\\') out += {'\\', c};
    else if (c == '\n') out += "\\n";
    else if (c == '\r') out += "\\r";
    else if (c == '\t') out += "\\t";
    else if (byte < 0x20 || byte == 0x7F) out += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
    else out += character;
  }
  out += '"';
}

}  // namespace

void JsonWriter::new_line() { text_.append(1, '\n').append(2 * depth_, ' '); }

void JsonWriter::place() {
  if (std::exchange(after_key_, false) || open_.empty()) return;
  Open& inside = open_.back();
  const bool first = std::exchange(inside.empty, false);
  if (!first) text_ += ',';
  if (inside.layout == JsonLayout::lines) new_line();
  else if (!first && inside.layout == JsonLayout::line) text_ += ' ';
}

JsonWriter& JsonWriter::begin(char bracket, JsonLayout layout) {
  place();
  text_ += bracket;
  open_.push_back({layout, true});
  if (layout == JsonLayout::lines) ++depth_;
  return *this;
}

JsonWriter& JsonWriter::end(char bracket) {
  const Open closed = open_.back();
  open_.pop_back();
  if (closed.layout == JsonLayout::lines) {
    --depth_;
    if (!closed.empty) new_line();
  }
  text_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  place();
  append_quoted(text_, name);
  text_ += open_.back().layout == JsonLayout::tight ? ":" : ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::item(std::string_view json) {
  place();
  text_ += json;
  return *this;
}

JsonWriter& JsonWriter::real(float x) {
  if (!std::isfinite(x)) return item("null");
  place();
  fmt::format_to(std::back_inserter(text_), "{}", x);
  return *this;
}
JsonWriter& JsonWriter::real(double x) {
  if (!std::isfinite(x)) return item("null");
  place();
  fmt::format_to(std::back_inserter(text_), "{}", x);
  return *this;
}
JsonWriter& JsonWriter::rounded(const Rounded& x) {
  if (!std::isfinite(x.value)) return item("null");
  place();
  const std::size_t begin = text_.size();
  switch (x.form) {
    case Rounded::Form::significant:
      fmt::format_to(std::back_inserter(text_), "{:.{}g}", x.value, x.digits);
      break;
    case Rounded::Form::decimals:
      fmt::format_to(std::back_inserter(text_), "{:.{}f}", x.value, x.digits);
      break;
    case Rounded::Form::with_point:
      fmt::format_to(std::back_inserter(text_), "{}", x.value);
      if (text_.find_first_of(".e", begin) == std::string::npos) text_ += ".0";
      break;
  }
  return *this;
}
JsonWriter& JsonWriter::whole(std::int64_t x) { return item(std::to_string(x)); }
JsonWriter& JsonWriter::whole(std::uint64_t x) { return item(std::to_string(x)); }

JsonWriter& JsonWriter::text(std::string_view x) {
  place();
  append_quoted(text_, x);
  return *this;
}

std::string JsonWriter::take() { return std::exchange(text_, {}); }

std::string json_quoted(std::string_view text) { return JsonWriter().value(text).take(); }

}  // namespace headlight::io
