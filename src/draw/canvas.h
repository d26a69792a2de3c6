// A page to draw on by hand, as PNG, SVG or PDF. Units are points of a page; PNG has `scale` pixels for each.
#pragma once

#include <string>
#include <string_view>

#include "draw/color.h"
#include "draw/drawing.h"
#include "draw/typesetter.h"

namespace headlight::draw {

struct TextStyle {
  double size = 11;
  Rgb color = {60, 60, 60};
  bool bold = false;
  Anchor anchor = Anchor::left;
  double rotation = 0;  // degrees, against the clock
};

struct LineStyle {
  Rgb color;
  double width = 1;
  double alpha = 1;
  bool dashed = false;
};

class Canvas {
 public:
  Canvas(PictureFormat format, double width, double height, double scale = 2);

  void fill(Rgb color) { drawing_.background = color; }
  void line(Point from, Point to, const LineStyle& style);
  // Through all points, with round joins. begin_clip() and end_clip() keep drawing inside a rectangle.
  void path(const Point* points, std::size_t count, const LineStyle& style);
  void dot(Point at, double radius, Rgb color);
  void box(Point corner, double width, double height, Rgb color, double alpha);
  void begin_clip(Point corner, double width, double height);
  void end_clip();
  // y is the middle of the line of text.
  void text(Point at, std::string_view text, const TextStyle& style);
  [[nodiscard]] double text_width(std::string_view text, const TextStyle& style) const;

  // The picture's bytes. Throws what encoded() throws.
  [[nodiscard]] std::string finish() const;

 private:
  PictureFormat format_;
  double dpi_;
  Drawing drawing_;
  Typesetter typesetter_;
};

}  // namespace headlight::draw
