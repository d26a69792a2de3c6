#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "core/concat.h"
#include "draw/bars_text.h"
#include "draw/figure_parts.h"
#include "draw/figures.h"
#include "draw/scale_ticks.h"
#include "headlight/error.h"

namespace headlight::draw {
namespace {

constexpr double kPitch = 1.5;  // from bar to bar, in font sizes

struct BarArea {
  double left = 0, width = 0, top = 0;
};

void add_axis(FigurePage& page, const BarArea& area, double bottom) {
  const TextLook small = page.quiet(0.85);
  const double need = page.typesetter.width(short_number(0.25 * page.style.top), small) + 0.6 * page.font();
  const int step = area.width / 4 >= need ? 1 : area.width / 2 >= need ? 2 : 4;  // of quarters that are named
  for (int i = 0; i <= 4; ++i) {
    const double x = area.left + area.width * i / 4;
    page.drawing.add(LineItem{
        .points = {{x, area.top}, {x, bottom}}, .color = page.colors.line, .width = i == 0 ? 0.7 : 0.3});
    if (i % step != 0) continue;
    page.drawing.add(TextItem{
        {x, bottom + 1.1 * page.font()}, short_number(page.style.top * i / 4), small, Anchor::middle});
  }
}

}  // namespace

Drawing bars_figure(const WeightMap& map, const FigureStyle& style, Index most) {
  check(map);
  if (map.rows() != 1) {
    throw Error(ErrorKind::usage, "draw.row",
                concat("bars show one query; the map \"", map.title, "\" has ", map.rows()));
  }
  FigurePage page(style, concat("What \"", shown(map.queries[0]), "\" looks at, ", shown(map.title)));
  page.heading(shown(map.title), map.tag(), page.left(), page.right());
  const std::string from = concat(map.row_axis, ": ");
  page.drawing.add(TextItem{{page.left(), page.y + page.font()}, from, page.quiet()});
  const double shift = page.typesetter.width(from, page.quiet());
  page.drawing.add(
      TextItem{{page.left() + shift, page.y + page.font()},
               page.typesetter.fitted(shown(map.queries[0]), page.ink(1, true), page.room() - shift),
               page.ink(1, true)});
  page.y += 1.9 * page.font();

  std::vector<Index> order(map.keys.size());
  std::iota(order.begin(), order.end(), Index{0});
  if (most > 0 && most < map.columns()) {
    order = keys_by_weight(map, 0);
    order.resize(std::min(order.size(), static_cast<std::size_t>(most)));
  }
  double label = 0;
  std::vector<std::string> names;
  for (const Index j : order) {
    names.push_back(
        page.typesetter.fitted(shown(map.keys[static_cast<std::size_t>(j)]), page.ink(), 0.35 * page.room()));
    label = std::max(label, page.typesetter.width(names.back(), page.ink()));
  }
  const double digits = page.typesetter.width("0.0000", page.ink(0.9)), pitch = kPitch * page.font();
  const BarArea area{page.left() + label + 0.6 * page.font(),
                     page.room() - label - digits - 1.4 * page.font(), page.y};
  const double bottom = area.top + static_cast<double>(order.size()) * pitch + 0.2 * page.font();
  add_axis(page, area, bottom);

  const ColorScale scale = style.scale(false);
  const Rgb fill = scale.color_at(style.theme == Theme::light ? 210 : 200);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double y = area.top + static_cast<double>(i) * pitch + 0.2 * page.font(),
                 height = pitch - 0.4 * page.font();
    const double base = y + height / 2 + page.font() * kCapHeight / 2;
    page.drawing.add(TextItem{{area.left - 0.4 * page.font(), base}, names[i], page.ink(), Anchor::right});
    if (!map.sees(0, order[i])) {
      page.drawing.add(TextItem{{area.left + 0.4 * page.font(), base}, map.masked_words, page.quiet(0.9)});
      continue;
    }
    const double x = map.weight(0, order[i]), length = area.width * std::clamp(x / style.top, 0.0, 1.0);
    page.drawing.add(RectangleItem{{area.left, y, length, height}, fill});
    page.drawing.add(
        TextItem{{area.left + length + 0.4 * page.font(), base}, fmt::format("{:.4f}", x), page.ink(0.9)});
  }
  page.y = bottom + 1.5 * page.font();
  const TextLook small = page.quiet(0.9);
  page.drawing.add(
      TextItem{{area.left + area.width / 2, page.y + 0.9 * page.font()}, "weight", small, Anchor::middle});
  page.y += 1.4 * page.font();
  return page.finish();
}

}  // namespace headlight::draw
