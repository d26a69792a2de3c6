#include "draw/color.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "draw/color_tables.h"

namespace headlight::draw {
namespace {

constexpr Rgb unpacked(std::uint32_t packed) {
  return {static_cast<std::uint8_t>(packed >> 16), static_cast<std::uint8_t>(packed >> 8),
          static_cast<std::uint8_t>(packed)};
}

double luminance(Rgb c) {
  const auto linear = [](std::uint8_t v) {
    const double x = v / 255.0;
    return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
}

// The scales in xterm's 256 colours, chosen by hand: the nearest colours would change hue abruptly.
constexpr std::array<int, 10> kXtermLight = {230, 222, 186, 144, 246, 243, 60, 24, 18, 17};
constexpr std::array<int, 10> kXtermDark = {233, 17, 18, 60, 242, 102, 144, 185, 221, 228};
constexpr std::array<int, 9> kXtermViridisLight = {230, 185, 149, 71, 36, 30, 24, 54, 17};
constexpr std::array<int, 9> kXtermViridisDark = {234, 53, 60, 31, 37, 72, 113, 149, 228};
constexpr std::array<int, 10> kXtermMagmaLight = {230, 223, 216, 210, 168, 132, 90, 54, 53, 17};
constexpr std::array<int, 10> kXtermMagmaDark = {234, 53, 54, 90, 132, 168, 210, 216, 223, 230};
constexpr std::array<int, 10> kXtermGreyLight = {255, 252, 250, 247, 244, 242, 240, 237, 235, 233};
constexpr std::array<int, 10> kXtermGreyDark = {234, 236, 238, 241, 243, 245, 247, 250, 252, 255};
constexpr std::array<int, 9> kXtermSignedLight = {25, 68, 110, 153, 231, 223, 215, 172, 130};
constexpr std::array<int, 9> kXtermSignedDark = {153, 75, 32, 24, 234, 94, 172, 215, 223};

// One palette as numbers and in xterm's colours, for both pages.
struct PaletteTables {
  const PackedTable *light, *dark;
  std::span<const int> xterm_light, xterm_dark;
};

PaletteTables tables_of(Palette palette) {
  switch (palette) {
    case Palette::cividis: break;
    case Palette::viridis: return {&kViridisLight, &kViridisDark, kXtermViridisLight, kXtermViridisDark};
    case Palette::magma: return {&kMagmaLight, &kMagmaDark, kXtermMagmaLight, kXtermMagmaDark};
    case Palette::grey: return {&kGreyLight, &kGreyDark, kXtermGreyLight, kXtermGreyDark};
  }
  return {&kWeightLight, &kWeightDark, kXtermLight, kXtermDark};
}

PaletteTables tables_of(const ColorScale& scale) {
  if (scale.is_signed) return {&kSignedLight, &kSignedDark, kXtermSignedLight, kXtermSignedDark};
  return tables_of(scale.palette);
}

int step_of(std::span<const int> ramp, double place) {
  const auto step = static_cast<std::size_t>(place * static_cast<double>(ramp.size()));
  return ramp[std::min(step, ramp.size() - 1)];
}

}  // namespace

std::string_view name_of(Transfer transfer) noexcept {
  constexpr std::array<std::string_view, 3> names = {"linear", "sqrt", "log"};
  return names[static_cast<std::size_t>(transfer)];
}

std::string_view name_of(Palette palette) noexcept {
  constexpr std::array<std::string_view, kPalettes.size()> names = {"cividis", "viridis", "magma", "grey"};
  return names[static_cast<std::size_t>(palette)];
}

double transferred(double x, Transfer transfer) {
  if (std::isnan(x)) return 0;
  const double size = std::min(std::abs(x), 1.0);
  double y = size;
  if (transfer == Transfer::square_root) y = std::sqrt(size);
  if (transfer == Transfer::logarithm)
    y = size <= kLogFloor ? 0 : 1 - std::log10(size) / std::log10(kLogFloor);
  return std::copysign(y, x);
}

double untransferred(double y, Transfer transfer) {
  const double size = std::min(std::abs(y), 1.0);
  double x = size;
  if (transfer == Transfer::square_root) x = size * size;
  if (transfer == Transfer::logarithm) x = std::pow(kLogFloor, 1 - size);
  return std::copysign(x, y);
}

double ColorScale::place(double value) const {
  const double y = transferred(top > 0 ? value / top : 0, transfer);
  return is_signed ? 0.5 + 0.5 * y : std::max(y, 0.0);
}

std::size_t ColorScale::entry(double value) const {
  return static_cast<std::size_t>(std::lround(255 * place(value)));
}

Rgb ColorScale::color_at(std::size_t entry) const {
  const PaletteTables tables = tables_of(*this);
  return unpacked((theme == Theme::light ? *tables.light : *tables.dark)[entry]);
}

Rgb ColorScale::color(double value) const { return color_at(entry(value)); }

int ColorScale::xterm_color(double value) const {
  const PaletteTables tables = tables_of(*this);
  return step_of(theme == Theme::light ? tables.xterm_light : tables.xterm_dark, place(value));
}

PageColors page_colors(Theme theme) {
  if (theme == Theme::light) {
    return {.background = {255, 255, 255},
            .ink = {28, 31, 38},
            .quiet = {96, 102, 112},
            .line = {190, 194, 201},
            .hatch = {205, 208, 214}};
  }
  return {.background = {16, 18, 23},
          .ink = {235, 237, 241},
          .quiet = {156, 162, 173},
          .line = {78, 83, 94},
          .hatch = {58, 62, 71}};
}

const std::array<Rgb, 8>& category_colors(Theme theme) {
  static constexpr std::array<Rgb, 8> light = {{{0, 0, 0},
                                                {230, 159, 0},
                                                {86, 180, 233},
                                                {0, 158, 115},
                                                {240, 228, 66},
                                                {0, 114, 178},
                                                {213, 94, 0},
                                                {204, 121, 167}}};
  static constexpr std::array<Rgb, 8> dark = [] {
    std::array<Rgb, 8> colors = light;
    colors[0] = {255, 255, 255};
    colors[5] = {46, 143, 204};
    return colors;
  }();
  return theme == Theme::light ? light : dark;
}

Rgb weight_color(double x) { return ColorScale{.transfer = Transfer::linear}.color(x); }

int weight_xterm_color(double x) { return ColorScale{.transfer = Transfer::linear}.xterm_color(x); }

double contrast(Rgb a, Rgb b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

Rgb ink_on(Rgb background) {
  constexpr Rgb black{0, 0, 0}, white{255, 255, 255};
  return contrast(background, white) >= contrast(background, black) ? white : black;
}

Rgb xterm_rgb(int index) {
  constexpr std::array<std::uint8_t, 6> level = {0, 95, 135, 175, 215, 255};
  if (index >= 232) {
    const auto grey = static_cast<std::uint8_t>(8 + 10 * (index - 232));
    return {grey, grey, grey};
  }
  const auto at = static_cast<std::size_t>(index - 16);
  return {level[at / 36], level[at / 6 % 6], level[at % 6]};
}

}  // namespace headlight::draw
