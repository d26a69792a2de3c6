// Writers of drawings: PNG and PDF by Cairo, SVG directly.
#pragma once

#include <string>

#include "draw/drawing.h"

namespace headlight::draw {

[[nodiscard]] std::string png_of(const Drawing& drawing, double dpi);
[[nodiscard]] std::string pdf_of(const Drawing& drawing);
[[nodiscard]] std::string svg_of(const Drawing& drawing);
// The cells of a bitmap as a PNG, one pixel each; those without a colour are transparent.
[[nodiscard]] std::string png_of(const CellsItem& cells);

// The hatching of a box: lines at whole multiples of the distance, so that neighbours continue each other.
struct Segment {
  Point from, to;
};
[[nodiscard]] std::vector<Segment> hatch_lines(const Box& box, double distance);
// A cell's box in its grid; `overlap` extends it below cells that are drawn later, which hides seams.
[[nodiscard]] Box cell_box(const CellsItem& cells, Index row, Index column, double overlap);

}  // namespace headlight::draw
