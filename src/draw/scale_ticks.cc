#include "draw/scale_ticks.h"

#include <fmt/core.h>

#include <span>

namespace headlight::draw {
namespace {

// Round numbers that are far enough apart on the scale, as shares of its top.
std::span<const double> shares(Transfer transfer, bool is_signed) {
  static constexpr std::array<double, 5> linear = {0, 0.25, 0.5, 0.75, 1}, root = {0, 0.05, 0.25, 0.5, 1},
                                         logarithm = {1e-4, 1e-3, 1e-2, 1e-1, 1};
  static constexpr std::array<double, 5> signed_linear = {-1, -0.5, 0, 0.5, 1},
                                         signed_root = {-1, -0.25, 0, 0.25, 1},
                                         signed_logarithm = {-1, -0.01, 0, 0.01, 1};
  switch (transfer) {
    case Transfer::linear: return is_signed ? signed_linear : linear;
    case Transfer::square_root: return is_signed ? signed_root : root;
    case Transfer::logarithm: break;
  }
  return is_signed ? signed_logarithm : logarithm;
}

}  // namespace

std::string short_number(double value) { return fmt::format("{:.3g}", value); }

std::string_view quantity(bool is_signed) noexcept { return is_signed ? "difference" : "weight"; }

std::vector<Tick> scale_ticks(const ColorScale& scale) {
  std::vector<Tick> ticks;
  for (const double share : shares(scale.transfer, scale.is_signed)) {
    const double value = share * scale.top;
    // All values below the logarithm's first tick have the same colour.
    const bool floor = scale.transfer == Transfer::logarithm && !scale.is_signed && ticks.empty();
    const std::string_view sign = floor ? "≤" : scale.is_signed && value > 0 ? "+" : "";
    std::string text = fmt::format("{}{}", sign, short_number(value));
    ticks.push_back({scale.place(value), std::move(text)});
  }
  return ticks;
}

}  // namespace headlight::draw
