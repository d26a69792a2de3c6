#include "draw/color.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headlight::draw {
namespace {

constexpr std::array<Rgb, 5> kStops = {
    {{0, 34, 78}, {67, 78, 108}, {125, 124, 120}, {188, 175, 111}, {254, 232, 56}}};

double luminance(Rgb c) {
  const auto linear = [](std::uint8_t v) {
    const double x = v / 255.0;
    return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
}

}  // namespace

Rgb weight_color(double x) {
  const double place = (x > 0 ? std::min(x, 1.0) : 0.0) * (kStops.size() - 1);
  const auto stop = std::min(static_cast<std::size_t>(place), kStops.size() - 2);
  const double part = place - static_cast<double>(stop);
  const auto mix = [&](std::uint8_t from, std::uint8_t to) {
    return static_cast<std::uint8_t>(std::lround(from + (to - from) * part));
  };
  const Rgb &a = kStops[stop], &b = kStops[stop + 1];
  return {mix(a.r, b.r), mix(a.g, b.g), mix(a.b, b.b)};
}

double contrast(Rgb a, Rgb b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

Rgb ink_on(Rgb background) {
  constexpr Rgb black{0, 0, 0}, white{255, 255, 255};
  return contrast(background, white) >= contrast(background, black) ? white : black;
}

int weight_xterm_color(double x) {
  constexpr std::array<int, 10> ramp = {17, 18, 60, 242, 102, 247, 144, 185, 221, 227};
  const double place = x > 0 ? std::min(x, 1.0) * ramp.size() : 0;
  return ramp[std::min(static_cast<std::size_t>(place), ramp.size() - 1)];
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
