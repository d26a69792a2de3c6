// Colours of weights: one set of tables for terminal, figures and page.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headlight/figure_style.h"

namespace headlight::draw {

struct Rgb {
  std::uint8_t r = 0, g = 0, b = 0;
  bool operator==(const Rgb&) const = default;
};

using headlight::Theme;

using headlight::Transfer;
[[nodiscard]] std::string_view name_of(Transfer transfer) noexcept;  // "linear", "sqrt", "log"
inline constexpr double kLogFloor = 1e-4;  // the logarithmic scale's zero: smaller weights look like it

using headlight::Palette;
inline constexpr std::array<Palette, 4> kPalettes = {Palette::cividis, Palette::viridis, Palette::magma,
                                                     Palette::grey};
[[nodiscard]] std::string_view name_of(Palette palette) noexcept;

// x in 0 … 1 to 0 … 1, or -1 … 1 to -1 … 1 with the sign kept. Values outside are clamped, NaN is 0.
[[nodiscard]] double transferred(double x, Transfer transfer);
// The inverse: the x at place y. The logarithm's 0 is kLogFloor.
[[nodiscard]] double untransferred(double y, Transfer transfer);

// Maps values to colours: weights, 0 … top, or signed values, -top … top.
struct ColorScale {
  Theme theme = Theme::dark;
  Transfer transfer = Transfer::square_root;
  bool is_signed = false;
  double top = 1;
  Palette palette = Palette::cividis;  // of weights; signed numbers are blue and orange

  [[nodiscard]] double place(double value) const;  // 0 … 1 along the table; zero of a signed one is 0.5
  [[nodiscard]] std::size_t entry(double value) const;  // 0 … 255
  [[nodiscard]] Rgb color(double value) const;
  [[nodiscard]] int xterm_color(double value) const;
  [[nodiscard]] Rgb color_at(std::size_t entry) const;
};

// Colours other than those of weights: page, text, muted text, thin lines, and the hatching of masked cells.
struct PageColors {
  Rgb background, ink, quiet, line, hatch;
};
[[nodiscard]] PageColors page_colors(Theme theme);

// Distinct colours, also with colour-vision deficiencies, for up to eight named series (Okabe and Ito, 2008). On a dark
// page black becomes white, and the dark blue a lighter one.
[[nodiscard]] const std::array<Rgb, 8>& category_colors(Theme theme);

// The dark theme's scale for 0 … 1, without a transfer.
[[nodiscard]] Rgb weight_color(double x);
[[nodiscard]] int weight_xterm_color(double x);

// Black or white, whichever reads better: at least 4.5:1 on any colour.
[[nodiscard]] Rgb ink_on(Rgb background);
// WCAG contrast, 1 to 21.
[[nodiscard]] double contrast(Rgb a, Rgb b);
// Colours 16 … 255 of xterm's palette (the user can change the first 16).
[[nodiscard]] Rgb xterm_rgb(int index);

}  // namespace headlight::draw
