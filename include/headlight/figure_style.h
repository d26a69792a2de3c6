// Appearance of figures.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)

namespace headlight {

enum class Theme : std::uint8_t { light, dark };
// Maps a value to the colour scale. A linear scale hides the differences between small weights.
enum class Transfer : std::uint8_t { linear, square_root, logarithm };
// Colours of weights. Each starts near the background colour and changes lightness monotonically, also for colour-blind readers.
enum class Palette : std::uint8_t { cividis, viridis, magma, grey };
enum class FigureFormat : std::uint8_t { png, svg, pdf };

struct FigureLook {
  double width_mm = 160;  // of the whole figure; its height follows
  double font_size = 8;   // points
  double dpi = 300;       // of a PNG
  Theme theme = Theme::light;
  Transfer transfer = Transfer::square_root;
  Palette palette = Palette::cividis;
  bool auto_range = false;  // the scale ends at the largest number shown, not at 1
  bool numbers = false;     // in the cells, where they fit
};

}  // namespace headlight

#pragma GCC visibility pop
