#include <algorithm>

#include "core/concat.h"
#include "draw/figure_labels.h"
#include "draw/figure_parts.h"
#include "draw/figures.h"
#include "headlight/error.h"

namespace headlight::draw {
namespace {

constexpr double kLargestMap = 90;    // points
constexpr double kCaptionSize = 0.8;  // of the font's size

// "2" of "2.5": the label shared by the maps of a row, or of a column.
std::string part_of(const std::string& name, bool after_point) {
  const std::size_t point = name.find('.');
  if (point == std::string::npos) return after_point ? name : "";
  return after_point ? name.substr(point + 1) : name.substr(0, point);
}

}  // namespace

Drawing atlas_figure(std::span<const WeightMap> maps, Index in_row, const FigureStyle& style,
                     std::span<const std::string> captions) {
  if (maps.empty() || in_row < 1) {
    throw Error(ErrorKind::usage, "draw.atlas",
                concat("an atlas of ", maps.size(), " maps, ", in_row, " in a row"));
  }
  FigurePage page(style, concat("Attention weights of ", maps.size(), " heads"));
  const auto count = static_cast<double>(in_row);
  const double left = 2.6 * page.font(), gap = std::clamp(0.06 * page.room() / count, 1.0, 0.8 * page.font());
  const double side = std::min(kLargestMap, (page.room() - left - gap * (count - 1)) / count);
  const auto most = static_cast<Index>(std::max(8.0, side * style.dpi / 72));

  const TextLook small = page.quiet(0.9);
  const AxisLabels heads = [&] {
    std::vector<std::string> names;
    for (Index i = 0; i < std::min(in_row, static_cast<Index>(maps.size())); ++i)
      names.push_back(part_of(maps[static_cast<std::size_t>(i)].short_name, true));
    return column_labels(page.typesetter, names, page.ink(0.9), side + gap, 4 * page.font());
  }();
  page.drawing.add(TextItem{{page.left() + left, page.y + 0.9 * page.font()}, "head", small});
  page.y += 1.2 * page.font() + height_of(heads);
  add_column_labels(page.drawing, heads, {page.left() + left - gap / 2, page.y}, side + gap);

  const TextLook caption = page.ink(kCaptionSize);
  const double below = !captions.empty() ? kLineHeight * caption.size : 0;
  const double top = page.y;
  bool masked = false, any_signed = false, was_pooled = false;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    check(maps[i]);
    const std::size_t row = i / static_cast<std::size_t>(in_row),
                      column = i % static_cast<std::size_t>(in_row);
    const double x = page.left() + left + static_cast<double>(column) * (side + gap);
    const double y = top + static_cast<double>(row) * (side + gap + below);
    const WeightMap map = pooled(maps[i], {most, most});
    page.cells(map, {x, y, side, side});
    masked = masked || map.has_masked();
    any_signed = any_signed || map.is_signed;
    was_pooled = was_pooled || map.is_pooled();
    const double size = 0.9 * page.font();
    if (column == 0 && side >= kTightHeight * size) {
      page.drawing.add(TextItem{{x - 0.5 * page.font(), y + side / 2 + size * kCapHeight / 2},
                                part_of(maps[i].short_name, false),
                                page.ink(0.9),
                                Anchor::right});
    }
    if (i < captions.size()) {
      page.drawing.add(TextItem{{x + side / 2, y + side + 0.95 * caption.size},
                                page.typesetter.fitted(captions[i], caption, side + gap),
                                caption,
                                Anchor::middle});
    }
    page.y = y + side + below;
  }
  page.drawing.add(
      TextItem{{page.left() + 0.8 * page.font(), (top + page.y) / 2}, "layer", small, Anchor::middle, 90});
  page.y += page.font();
  page.legend({.is_signed = any_signed, .has_masked = masked, .masked_words = maps[0].masked_words});
  page.paragraph(concat("In each map rows are queries (from) and columns are keys (to).",
                        was_pooled ? " Each cell is the largest weight of its area." : ""));
  return page.finish();
}

}  // namespace headlight::draw
