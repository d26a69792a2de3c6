// Standard output with error checks, and whether to use colour.
#pragma once

#include <string>
#include <string_view>

#include "cli/commands.h"

namespace headlight::cli {

// Thrown by print() when the reader of standard output is gone; ends the program silently.
struct BrokenPipe {};

// Writes all of it at once. Throws BrokenPipe, or Error{file} when the device is full.
void print(std::string_view text);
// A text that a model or a file has made. A terminal gets its control characters, but for line breaks and tabs,
// in visible form, so that they cannot control the terminal; pipes and files get them unchanged.
[[nodiscard]] std::string printable(std::string_view text);
// To standard error, where nothing can be done about a failure.
void print_error(std::string_view text) noexcept;

// The program's name in hints: "headlight", or "./run" if that script started it.
[[nodiscard]] std::string program_name();

enum class Color { automatic, always, never };
enum class ColorDepth { none, palette, full };  // palette: the 256 colours of xterm; full: 24 bit

// Adds --color auto|always|never.
void add_color(CLI::App& command, Color& color);

// Decided by --color; else by NO_COLOR, whether this is a terminal, and its COLORTERM and TERM.
[[nodiscard]] ColorDepth color_depth(Color color);
[[nodiscard]] bool output_is_terminal() noexcept;
// False only when the locale names another character set than UTF-8.
[[nodiscard]] bool output_is_utf8();
// Columns of the terminal, 80 when there is none.
[[nodiscard]] int terminal_width() noexcept;

}  // namespace headlight::cli
