// Files of lines and columns: splitting, and errors with a line number.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::text {

// Lines without their ends, "\n" or "\r\n"; a final line end adds no line.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);
// The parts between the separators; one more than there are separators.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char at);
// Without surrounding spaces, tabs and line ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

// A position in a file, for messages.
struct FilePlace {
  const std::string& name;
  std::size_t line = 0;  // from 1
};
// Throws Error{input} "FILE: WHAT (line N)".
[[noreturn]] void refuse(const FilePlace& place, std::string_view code, const std::string& what);
void check_utf8(const FilePlace& place, std::string_view code, std::string_view text);

}  // namespace headlight::text
