// One line for a terminal: text and glyphs on colours, with as few escape codes as possible.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "draw/terminal_style.h"

namespace headlight::draw {

// A terminal colour: 24 bits, or an index into the 256-colour palette.
struct Paint {
  Rgb rgb;
  int xterm = -1;
  bool operator==(const Paint&) const = default;
};

[[nodiscard]] Paint paint_of(double value, const TerminalStyle& style, bool is_signed);
// Black or white, to write on a paint.
[[nodiscard]] Paint ink_on(const Paint& ground);

class TerminalLine {
 public:
  using Color = std::optional<Paint>;  // none: the terminal's own

  // Without colour; `code` may be "1" (bold) or "2" (dim).
  void text(std::string_view text, std::string_view code = {});
  void put(std::string_view glyph, Color ink, Color ground);
  // Spaces up to a column; none if the line is longer already.
  void advance_to(int column);
  [[nodiscard]] int column() const noexcept { return column_; }
  // The line with its newline, without spaces at its end.
  [[nodiscard]] std::string finish();

 private:
  void switch_to(const std::string& codes);
  std::string out_, codes_;
  int column_ = 0;
  std::size_t spaces_ = 0;  // spaces held back until something follows
};

// Replaces the "…" of shortened labels by "~" if the style is ASCII only. Words keep their letters.
[[nodiscard]] std::string in_glyphs(std::string text, const TerminalStyle& style);

// bold and dim are "" if the style has no colour.
[[nodiscard]] std::string_view bold_code(const TerminalStyle& style) noexcept;
[[nodiscard]] std::string_view dim_code(const TerminalStyle& style) noexcept;

}  // namespace headlight::draw
