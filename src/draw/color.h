// Colours of weights: one scale for terminal, pictures and page.
#pragma once

#include <cstdint>

namespace headlight::draw {

struct Rgb {
  std::uint8_t r = 0, g = 0, b = 0;
  bool operator==(const Rgb&) const = default;
};

// Dark blue over grey to yellow for 0 … 1, in even steps of lightness and readable without red and
// green (after cividis). Values outside are clamped, NaN is 0.
[[nodiscard]] Rgb weight_color(double x);

// Black or white, whichever reads better: at least 4.5:1 on every colour of the scale.
[[nodiscard]] Rgb ink_on(Rgb background);
// WCAG contrast, 1 to 21.
[[nodiscard]] double contrast(Rgb a, Rgb b);

// The same scale in xterm's 256 colours, hand-picked: the nearest ones would jump in hue.
[[nodiscard]] int weight_xterm_color(double x);
// What a colour 16 … 255 of that palette looks like (the first 16 are the user's own).
[[nodiscard]] Rgb xterm_rgb(int index);

}  // namespace headlight::draw
