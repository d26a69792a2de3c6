#include "text/lines.h"

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "text/unicode.h"

namespace headlight::text {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return lines;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trimmed(std::string_view text) {
  const auto space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

void refuse(const FilePlace& place, std::string_view code, const std::string& what) {
  throw Error(ErrorKind::input, code,
              concat(escaped(place.name, 100), ": ", what, " (line ", place.line, ")"));
}

void check_utf8(const FilePlace& place, std::string_view code, std::string_view text) {
  if (!is_well_formed(text)) refuse(place, code, "is not UTF-8");
}

}  // namespace headlight::text
