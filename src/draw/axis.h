// One axis of a chart: the position of a value, and the tick labels.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace headlight::draw {

enum class AxisKind : std::uint8_t { linear, logarithmic };

struct AxisTick {
  double value = 0;
  std::string text;
};

struct Axis {
  AxisKind kind = AxisKind::linear;
  double low = INFINITY, high = -INFINITY;  // of the added values, or of their logarithms

  // A logarithmic axis cannot show values that are not positive.
  [[nodiscard]] bool takes(double value) const;
  void add(double value);
  [[nodiscard]] bool empty() const { return low > high; }
  // 0 at the low end, 1 at the high one.
  [[nodiscard]] double place(double value) const;
  // About `count` round numbers between its ends.
  [[nodiscard]] std::vector<AxisTick> numbers(int count) const;

 private:
  [[nodiscard]] double scaled(double value) const {
    return kind == AxisKind::linear ? value : std::log10(value);
  }
};

// Round numbers that cover [low, high] in about `count` steps: 1, 2 or 5 times a power of ten.
[[nodiscard]] std::vector<double> ticks(double low, double high, int count);
[[nodiscard]] std::string tick_text(double value, double step);  // "0.25", "1,500", "20k"
// A number of a logarithmic axis by itself: "0.5", "20", "4k", "1e-05".
[[nodiscard]] std::string power_text(double value);

}  // namespace headlight::draw
