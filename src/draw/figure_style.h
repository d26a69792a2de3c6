// Style of a figure, and checks of its values.
#pragma once

#include <span>
#include <string>

#include "draw/drawing.h"
#include "draw/weight_map.h"

namespace headlight::draw {

struct FigureStyle {
  double width_mm = 160;  // of the whole figure; its height follows
  double font_size = 8;   // points
  double dpi = 300;       // of a PNG; also limits the detail of a map of many tokens
  Theme theme = Theme::light;
  Transfer transfer = Transfer::square_root;
  Palette palette = Palette::cividis;
  double top = 1;            // the value at the end of the scale
  bool numbers = false;      // in the cells, where they fit
  std::string title = {};    // above the figure; empty unless given
  std::string caption = {};  // below the figure

  [[nodiscard]] ColorScale scale(bool is_signed) const noexcept {
    return {theme, transfer, is_signed, top, palette};
  }
  [[nodiscard]] double width() const noexcept { return width_mm * kPointsPerMillimetre; }
};

// Throws Error{usage} for sizes outside 20 … 2000 mm, 3 … 72 pt, 36 … 1200 dpi, or a top that is not positive.
void check(const FigureStyle& style);

}  // namespace headlight::draw
