#include "draw/canvas.h"

#include <cmath>
#include <numbers>

namespace headlight::draw {
namespace {

TextLook look_of(const TextStyle& style) { return {style.size, style.color, style.bold}; }

}  // namespace

Canvas::Canvas(PictureFormat format, double width, double height, double scale)
    : format_(format), dpi_(72 * scale) {
  drawing_.width = width;
  drawing_.height = height;
}

void Canvas::line(Point from, Point to, const LineStyle& style) {
  const Point both[] = {from, to};
  path(both, 2, style);
}

void Canvas::path(const Point* points, std::size_t count, const LineStyle& style) {
  if (count < 2) return;
  LineItem item{
      .points = {points, points + count}, .color = style.color, .width = style.width, .alpha = style.alpha};
  if (style.dashed) item.dashes = {5, 4};
  drawing_.add(std::move(item));
}

void Canvas::dot(Point at, double radius, Rgb color) { drawing_.add(DotItem{at, radius, color}); }

void Canvas::box(Point corner, double width, double height, Rgb color, double alpha) {
  drawing_.add(RectangleItem{{corner.x, corner.y, width, height}, color, alpha});
}

void Canvas::begin_clip(Point corner, double width, double height) {
  drawing_.add(ClipItem{Box{corner.x, corner.y, width, height}});
}

void Canvas::end_clip() { drawing_.add(ClipItem{}); }

void Canvas::text(Point at, std::string_view text, const TextStyle& style) {
  // From the middle of a line to its baseline, along the direction that is down for the text.
  const double down = style.size * kCapHeight / 2, angle = style.rotation * std::numbers::pi / 180;
  drawing_.add(TextItem{{at.x + down * std::sin(angle), at.y + down * std::cos(angle)},
                        std::string(text),
                        look_of(style),
                        style.anchor,
                        style.rotation});
}

double Canvas::text_width(std::string_view text, const TextStyle& style) const {
  return typesetter_.width(text, look_of(style));
}

std::string Canvas::finish() const { return encoded(drawing_, format_, dpi_); }

}  // namespace headlight::draw
