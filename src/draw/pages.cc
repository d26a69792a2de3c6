#include "draw/pages.h"

namespace headlight::draw {
namespace {

struct Moved {
  Point at;
  double scale;

  [[nodiscard]] Point point(const Point& p) const { return {at.x + p.x * scale, at.y + p.y * scale}; }
  [[nodiscard]] Box box(const Box& b) const {
    return {at.x + b.x * scale, at.y + b.y * scale, b.width * scale, b.height * scale};
  }
  void operator()(RectangleItem& item) const { item.box = box(item.box); }
  void operator()(DotItem& item) const {
    item.center = point(item.center);
    item.radius *= scale;
  }
  void operator()(LineItem& item) const {
    for (Point& p : item.points) p = point(p);
    for (double& dash : item.dashes) dash *= scale;
    item.width *= scale;
  }
  void operator()(CellsItem& item) const {
    item.box = box(item.box);
    item.gap *= scale;
  }
  void operator()(HatchItem& item) const {
    for (Box& b : item.boxes) b = box(b);
    item.distance *= scale;
    item.width *= scale;
  }
  void operator()(ClipItem& item) const {
    if (item.box) item.box = box(*item.box);
  }
  void operator()(TextItem& item) const {
    item.at = point(item.at);
    item.look.size *= scale;
  }
};

}  // namespace

void place(Drawing& page, const Drawing& picture, Point at, double scale) {
  page.add(RectangleItem{{at.x, at.y, picture.width * scale, picture.height * scale}, picture.background});
  for (DrawingItem item : picture.items) {
    std::visit(Moved{at, scale}, item);
    page.items.push_back(std::move(item));
  }
}

}  // namespace headlight::draw
