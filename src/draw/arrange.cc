#include "draw/arrange.h"

#include <algorithm>
#include <iterator>

#include "headlight/error.h"

namespace headlight::draw {
namespace {

// Moves the contents of a drawing down.
struct Lower {
  double by;
  void operator()(RectangleItem& item) const { item.box.y += by; }
  void operator()(DotItem& item) const { item.center.y += by; }
  void operator()(LineItem& item) const {
    for (Point& point : item.points) point.y += by;
  }
  void operator()(CellsItem& item) const { item.box.y += by; }
  void operator()(HatchItem& item) const {
    for (Box& box : item.boxes) box.y += by;
  }
  void operator()(ClipItem& item) const {
    if (item.box) item.box->y += by;
  }
  void operator()(TextItem& item) const { item.at.y += by; }
};

}  // namespace

Drawing below_each_other(std::vector<Drawing> drawings) {
  if (drawings.empty()) throw Error(ErrorKind::usage, "draw.arrange", "figure: nothing to draw");
  Drawing all = std::move(drawings.front());
  for (auto drawing = drawings.begin() + 1; drawing != drawings.end(); ++drawing) {
    for (DrawingItem& item : drawing->items) std::visit(Lower{all.height}, item);
    std::move(drawing->items.begin(), drawing->items.end(), std::back_inserter(all.items));
    all.height += drawing->height;
    all.width = std::max(all.width, drawing->width);
  }
  return all;
}

}  // namespace headlight::draw
