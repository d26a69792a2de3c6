#include "draw/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace headlight::draw {

bool Axis::takes(double value) const {
  return std::isfinite(value) && (kind == AxisKind::linear || value > 0);
}

void Axis::add(double value) {
  low = std::min(low, scaled(value));
  high = std::max(high, scaled(value));
}

double Axis::place(double value) const { return (scaled(value) - low) / (high - low); }

std::vector<AxisTick> Axis::numbers(int count) const {
  std::vector<AxisTick> result;
  if (kind == AxisKind::linear) {
    const std::vector<double> values = ticks(low, high, count);
    const double step = values.size() > 1 ? values[1] - values[0] : 1;
    for (const double value : values) result.push_back({value, tick_text(value, step)});
    return result;
  }
  // Powers of ten; where there are few of them, their multiples too.
  const auto first = static_cast<int>(std::floor(low)), last = static_cast<int>(std::ceil(high));
  const int every = std::max(1, (last - first + count - 1) / count);
  constexpr std::array<double, 3> kMultiples = {1, 2, 5};
  const std::size_t multiples = high - low > 2.5 ? 1 : kMultiples.size();
  for (int power = first; power <= last; power += every) {
    for (std::size_t m = 0; m < multiples; ++m) {
      const double value = kMultiples[m] * std::pow(10.0, power);
      if (scaled(value) >= low - 1e-9 && scaled(value) <= high + 1e-9)
        result.push_back({value, power_text(value)});
    }
  }
  return result;
}

std::vector<double> ticks(double low, double high, int count) {
  std::vector<double> result;
  if (!(high > low) || !std::isfinite(high - low) || count < 1) return result;
  const double raw = (high - low) / count, power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) {
      step = factor * power;
      break;
    }
  }
  const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
  const auto ticks_there = static_cast<int>(last - first) + 1;
  for (int i = 0; i < ticks_there; ++i) result.push_back((first + i) * step + 0.0);
  return result;
}

std::string tick_text(double value, double step) {
  if (std::abs(value) < step * 1e-6) return "0";
  if (step >= 1000 && std::fmod(std::abs(value) + step * 1e-6, 1000) < step * 1e-3)
    return fmt::format("{:.0f}k", value / 1000);
  const int digits = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  return fmt::format("{:.{}f}", value, digits);
}

std::string power_text(double value) {
  if (value == 0) return "0";
  if (value >= 1e9 || value < 9.99e-4) return fmt::format("{:.0e}", value);
  if (value >= 1e6) return fmt::format("{:g}M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:g}k", value / 1e3);
  return fmt::format("{:g}", value);
}

}  // namespace headlight::draw
