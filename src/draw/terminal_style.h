// Style of maps and tables in text.
#pragma once

#include <cstdint>
#include <string_view>

#include "draw/color.h"
#include "draw/text.h"

namespace headlight::draw {

enum class Look : std::uint8_t {
  full_color,  // 24-bit colours, two rows of cells to a line
  palette,     // xterm's 256 colours, likewise
  shades,      // " ░▒▓█"
  ascii,       // " .:-=+*#%@"
  table,       // the numbers themselves: for pipes
};

struct TerminalStyle {
  Look look = Look::table;
  Glyphs glyphs = Glyphs::unicode;
  Theme theme = Theme::dark;
  Transfer transfer = Transfer::square_root;
  Palette palette = Palette::cividis;
  double top = 1;        // the value at the end of the scale
  int width = 80;        // columns; of a table 0 means any number
  bool numbers = false;  // in the cells, where they fit
  bool legend = true;

  [[nodiscard]] bool colored() const noexcept { return look == Look::full_color || look == Look::palette; }
  [[nodiscard]] bool unicode() const noexcept { return glyphs == Glyphs::unicode && look != Look::ascii; }
  // Half blocks put two rows of cells on a line; numbers need a line each.
  [[nodiscard]] int rows_on_line() const noexcept { return colored() && unicode() && !numbers ? 2 : 1; }
  [[nodiscard]] ColorScale scale(bool is_signed) const noexcept {
    return {theme, transfer, is_signed, top, palette};
  }
  [[nodiscard]] std::string_view pick(std::string_view unicode_text, std::string_view ascii_text) const {
    return unicode() ? unicode_text : ascii_text;
  }
};

}  // namespace headlight::draw
