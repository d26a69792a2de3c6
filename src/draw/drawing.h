// A drawing as a display list, in points (1/72 inch) from the top left corner. It can be inspected, and written as PNG,
// SVG or PDF: the same drawing gives the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "draw/color.h"
#include "headlight/tensor.h"

namespace headlight::draw {

struct Point {
  double x = 0, y = 0;
};

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  [[nodiscard]] double right() const noexcept { return x + width; }
  [[nodiscard]] double bottom() const noexcept { return y + height; }
};

enum class Anchor : std::uint8_t { left, middle, right };

struct TextLook {
  double size = 8;  // points
  Rgb color = {};
  bool bold = false;
  bool operator==(const TextLook&) const = default;
};

// One line of text. Its point is the start, the middle or the end of the baseline; the text is rotated around that
// point, counter-clockwise.
struct TextItem {
  Point at;
  std::string text;
  TextLook look;
  Anchor anchor = Anchor::left;
  double degrees = 0;
};

struct RectangleItem {
  Box box;
  Rgb fill;
  double alpha = 1;
};

struct DotItem {
  Point center;
  double radius = 1;
  Rgb fill;
};

struct LineItem {
  std::vector<Point> points;
  Rgb color;
  double width = 0.5;
  double alpha = 1;
  std::vector<double> dashes = {};  // none: solid
};

// Cells of one size, row by row; a cell without a colour is not drawn.
struct CellsItem {
  Box box;
  Index rows = 0, columns = 0;
  double gap = 0;  // between cells
  std::vector<std::optional<Rgb>> colors;
  bool bitmap = false;  // as one picture, because there are too many for separate shapes
};

// Thin lines from bottom left to top right over some boxes, as if through a window.
struct HatchItem {
  std::vector<Box> boxes;
  Rgb color;
  double distance = 2.4, width = 0.4;
};

// Clips what follows to the box; without a box, clipping ends.
struct ClipItem {
  std::optional<Box> box;
};

using DrawingItem = std::variant<RectangleItem, DotItem, LineItem, CellsItem, HatchItem, ClipItem, TextItem>;

struct Drawing {
  double width = 0, height = 0;
  Rgb background{255, 255, 255};
  std::string title = {};  // for screen readers, and the properties of a PDF
  std::vector<DrawingItem> items = {};

  template <class Item>
  void add(Item item) {
    items.emplace_back(std::move(item));
  }
};

using PictureFormat = headlight::FigureFormat;
// Chosen by the file extension. Throws Error{usage} that lists the known ones.
[[nodiscard]] PictureFormat picture_format(std::string_view path);

// The bytes of the file. `dpi` is the resolution of PNG only. Throws Error{resource} if the
// picture would be too large, Error{file} if the fonts are missing.
[[nodiscard]] std::string encoded(const Drawing& drawing, PictureFormat format, double dpi = 300);

// Texts with characters that no installed font has: they are drawn as boxes.
[[nodiscard]] std::vector<std::string> texts_without_glyphs(const Drawing& drawing);

inline constexpr double kPointsPerMillimetre = 72 / 25.4;

}  // namespace headlight::draw
