// Labels along a map's sides: rotated, shrunk or thinned out until none overlaps another.
#pragma once

#include <string>
#include <vector>

#include "draw/drawing.h"
#include "draw/typesetter.h"

namespace headlight::draw {

struct AxisLabels {
  std::vector<std::string> texts;  // the displayed text, one for each row or column
  TextLook look;
  Index step = 1;      // every so many are shown
  double degrees = 0;  // 0, 45 or 90
  double length = 0;   // of the longest displayed label
};

inline constexpr double kSmallestLabel = 4.5;  // points; smaller ones are thinned out instead

// Labels to the left of rows that are `pitch` apart, no longer than `limit`.
[[nodiscard]] AxisLabels row_labels(const Typesetter& typesetter, const std::vector<std::string>& labels,
                                    const TextLook& look, double pitch, double limit);
// Labels above columns: flat if each fits its column, else at 45 degrees, else upright.
[[nodiscard]] AxisLabels column_labels(const Typesetter& typesetter, const std::vector<std::string>& labels,
                                       const TextLook& look, double pitch, double limit);

// The height of column labels, and how far a label that starts at a column's middle reaches to its right.
[[nodiscard]] double height_of(const AxisLabels& columns);
[[nodiscard]] double overhang(const Typesetter& typesetter, const AxisLabels& columns, std::size_t column);

// Draws the labels beside a map whose first cell starts at `corner`.
void add_row_labels(Drawing& drawing, const AxisLabels& labels, Point corner, double pitch);
void add_column_labels(Drawing& drawing, const AxisLabels& labels, Point corner, double pitch);

}  // namespace headlight::draw
