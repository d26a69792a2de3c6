#include "draw/arrange.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "draw/figure_parts.h"
#include "headlight/error.h"

namespace headlight::draw {
namespace {

// Scales the contents of a drawing, then moves them down.
struct Place {
  double scale = 1, down = 0;

  void move(Point& point) const { point = {point.x * scale, point.y * scale + down}; }
  void move(Box& box) const {
    box = {box.x * scale, box.y * scale + down, box.width * scale, box.height * scale};
  }
  void operator()(RectangleItem& item) const { move(item.box); }
  void operator()(DotItem& item) const {
    move(item.center);
    item.radius *= scale;
  }
  void operator()(LineItem& item) const {
    for (Point& point : item.points) move(point);
    for (double& dash : item.dashes) dash *= scale;
    item.width *= scale;
  }
  void operator()(CellsItem& item) const {
    move(item.box);
    item.gap *= scale;
  }
  void operator()(HatchItem& item) const {
    for (Box& box : item.boxes) move(box);
    item.distance *= scale;
    item.width *= scale;
  }
  void operator()(ClipItem& item) const {
    if (item.box) move(*item.box);
  }
  void operator()(TextItem& item) const {
    move(item.at);
    item.look.size *= scale;
  }
};

// Appends the drawing below the existing contents of `page`.
void append(Drawing& page, Drawing drawing, double scale, double down) {
  for (DrawingItem& item : drawing.items) std::visit(Place{scale, down}, item);
  std::move(drawing.items.begin(), drawing.items.end(), std::back_inserter(page.items));
}

}  // namespace

Drawing below_each_other(std::vector<Drawing> drawings) {
  if (drawings.empty()) throw Error(ErrorKind::usage, "draw.arrange", "figure: nothing to draw");
  Drawing all = std::move(drawings.front());
  for (auto drawing = drawings.begin() + 1; drawing != drawings.end(); ++drawing) {
    const double width = drawing->width, height = drawing->height;
    append(all, std::move(*drawing), 1, all.height);
    all.height += height;
    all.width = std::max(all.width, width);
  }
  return all;
}

double usual_font_size(const Drawing& drawing) {
  std::map<double, std::size_t> letters;
  for (const DrawingItem& item : drawing.items)
    if (const auto* text = std::get_if<TextItem>(&item)) letters[text->look.size] += text->text.size();
  const auto most = std::max_element(letters.begin(), letters.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == letters.end() ? 0 : most->first;
}

Drawing framed(Drawing drawing, const Frame& frame) {
  const double letters = usual_font_size(drawing);
  const double scale = frame.width_mm > 0 ? frame.width_mm * kPointsPerMillimetre / drawing.width
                       : frame.font_size > 0 && letters > 0 ? frame.font_size / letters
                                                            : 1;
  const bool words = !frame.title.empty() || !frame.caption.empty();
  if (scale == 1 && !words) return drawing;
  const FigureStyle style{.width_mm = drawing.width * scale / kPointsPerMillimetre,
                          .font_size = frame.font_size > 0 ? frame.font_size
                                       : letters > 0       ? letters * scale
                                                           : FigureStyle{}.font_size,
                          .title = frame.title,
                          .caption = frame.caption};
  FigurePage page(style, std::move(drawing.title));
  if (frame.title.empty()) page.y = 0;
  page.drawing.background = drawing.background;
  const double height = drawing.height * scale;
  append(page.drawing, std::move(drawing), scale, page.y);
  page.y += height;
  if (words) return page.finish();
  page.drawing.height = height;
  return std::move(page.drawing);
}

}  // namespace headlight::draw
