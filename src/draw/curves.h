// Curves over steps, lengths or sizes, with labelled axes.
#pragma once

#include <string>
#include <vector>

#include "draw/axis.h"
#include "draw/drawing.h"

namespace headlight::draw {

struct Interval {
  double low = 0, high = 0;
};

struct Curve {
  std::string label;          // none: not in the legend
  std::vector<Point> points;  // x rising
  Rgb color;
  bool strong = false;  // with dots, on top of the others; its lowest (or highest) point is labelled
  bool guide = false;   // dashes without dots: a law, not a measurement
  std::vector<Interval> spread = {};  // a bar through each point: the spread of several runs; empty: none
};

inline constexpr double kCurveLetters = 11;  // points; the size of most letters

struct CurveChart {
  std::string title;
  std::string x_label = "step", y_label = "loss";
  std::vector<Curve> curves;
  bool higher_is_better = false;
  double width = 720, height = 440;
  AxisKind x_axis = AxisKind::linear, y_axis = AxisKind::linear;
  std::vector<double> x_ticks = {};  // positions of numbers along x; empty: round numbers
  bool name_best = true;             // write the best value of strong curves beside it
};

// Points that are not finite, or cannot be shown on a logarithmic axis, are omitted. A chart without any point is
// Error{input}.
[[nodiscard]] Drawing draw_curves(const CurveChart& chart);

// Eight colours that do not rely on red and green (Okabe and Ito), then repeated.
[[nodiscard]] Rgb curve_color(std::size_t number);

}  // namespace headlight::draw
