// Code of a chapter in lines that fit the terminal.
#pragma once

#include <string>
#include <string_view>

namespace headlight::cli {

// One line of code, broken so that no line is wider than `width` columns if the language allows a break. `language` is that of
// the Markdown fence: "sh" is continued with a backslash; in "cpp" and "python" a comment at the end moves above its line,
// and other lines are broken at spaces. Every other language is left unchanged.
[[nodiscard]] std::string code_lines(std::string_view line, std::string_view language, int width);

}  // namespace headlight::cli
