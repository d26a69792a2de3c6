// The legend of a map's colours or shades, in one or two lines.
#pragma once

#include <string>

#include "draw/terminal_style.h"

namespace headlight::draw {

struct LegendParts {
  bool is_signed = false;
  bool has_masked = false;  // explain the glyph of hidden cells
  std::string masked_words = "not visible";
  std::string quantity = {};  // none: the usual one
  int indent = 0;
};
[[nodiscard]] std::string legend_text(const TerminalStyle& style, const LegendParts& parts);

}  // namespace headlight::draw
