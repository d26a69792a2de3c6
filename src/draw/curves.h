// Curves over steps, with axes that people can read.
#pragma once

#include <string>
#include <vector>

#include "draw/drawing.h"

namespace headlight::draw {

struct Curve {
  std::string label;
  std::vector<Point> points;  // x rising
  Rgb color;
  bool strong = false;  // with dots, on top of the others; its lowest (or highest) point is named
};

struct CurveChart {
  std::string title;
  std::string x_label = "step", y_label = "loss";
  std::vector<Curve> curves;
  bool higher_is_better = false;
  double width = 720, height = 440;
};

// Points that are not finite are left out. A chart without any is Error{input}.
[[nodiscard]] Drawing draw_curves(const CurveChart& chart);

// Eight colours that are told apart without red and green (Okabe and Ito), then again from the start.
[[nodiscard]] Rgb curve_color(std::size_t number);

// Round numbers that cover [low, high] in about `count` steps: 1, 2 or 5 times a power of ten.
[[nodiscard]] std::vector<double> ticks(double low, double high, int count);
[[nodiscard]] std::string tick_text(double value, double step);  // "0.25", "1,500", "20k"

}  // namespace headlight::draw
