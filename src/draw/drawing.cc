#include "draw/drawing.h"

#include <cmath>

#include "core/concat.h"
#include "core/escape.h"
#include "draw/drawing_writers.h"
#include "draw/typesetter.h"
#include "headlight/error.h"

namespace headlight::draw {
namespace {

constexpr double kMostPixels = 30000;  // on a side; Cairo's own limit is 32,767

}  // namespace

PictureFormat picture_format(std::string_view path) {
  if (path.ends_with(".png")) return PictureFormat::png;
  if (path.ends_with(".svg")) return PictureFormat::svg;
  if (path.ends_with(".pdf")) return PictureFormat::pdf;
  throw Error(ErrorKind::usage, "draw.format",
              concat(escaped(path), ": unknown format; choose a file name that ends in .png, .svg or .pdf"));
}

std::vector<Segment> hatch_lines(const Box& box, double distance) {
  std::vector<Segment> lines;
  // On the line number n, x + y = n·distance.
  const auto first = static_cast<Index>(std::ceil((box.x + box.y) / distance));
  const auto last = static_cast<Index>(std::floor((box.right() + box.bottom()) / distance));
  for (Index n = first; n <= last; ++n) {
    const double sum = static_cast<double>(n) * distance;
    const double left = std::max(box.x, sum - box.bottom()), right = std::min(box.right(), sum - box.y);
    if (left < right) lines.push_back({{left, sum - left}, {right, sum - right}});
  }
  return lines;
}

Box cell_box(const CellsItem& cells, Index row, Index column, double overlap) {
  const double width = cells.box.width / static_cast<double>(cells.columns);
  const double height = cells.box.height / static_cast<double>(cells.rows);
  const bool last_row = row + 1 == cells.rows, last_column = column + 1 == cells.columns;
  const double inset = cells.gap / 2;
  return {cells.box.x + static_cast<double>(column) * width + inset,
          cells.box.y + static_cast<double>(row) * height + inset,
          width - cells.gap + (last_column || cells.gap > 0 ? 0 : overlap),
          height - cells.gap + (last_row || cells.gap > 0 ? 0 : overlap)};
}

std::string encoded(const Drawing& drawing, PictureFormat format, double dpi) {
  const double side = std::max(drawing.width, drawing.height) * (format == PictureFormat::png ? dpi / 72 : 1);
  if (!(side <= kMostPixels)) {
    throw Error(
        ErrorKind::resource, "draw.size",
        concat("the figure would be ", std::llround(side),
               format == PictureFormat::png ? " pixels" : " points", " long; the limit is ", kMostPixels));
  }
  switch (format) {
    case PictureFormat::png: return png_of(drawing, dpi);
    case PictureFormat::pdf: return pdf_of(drawing);
    case PictureFormat::svg: break;
  }
  return svg_of(drawing);
}

std::vector<std::string> texts_without_glyphs(const Drawing& drawing) {
  const Typesetter typesetter;
  std::vector<std::string> texts;
  for (const DrawingItem& item : drawing.items) {
    const auto* text = std::get_if<TextItem>(&item);
    if (text != nullptr && !typesetter.has_glyphs(text->text)) texts.push_back(text->text);
  }
  return texts;
}

}  // namespace headlight::draw
