#include <algorithm>
#include <numeric>

#include "core/concat.h"
#include "draw/figure_labels.h"
#include "draw/figure_parts.h"
#include "draw/figures.h"
#include "headlight/error.h"

namespace headlight::draw {
namespace {

constexpr double kLargestCell = 36;  // points
constexpr double kAxisTitle = 1.5;   // of the turned title beside the rows, in font sizes

// All panels of a figure have the same cell size, and the margins of the largest labels.
struct Grid {
  std::size_t in_row = 1;
  double cell = 0;
  double label_width = 0;   // of row labels, with the axis title
  double gap = 0;           // between panels
  bool labels_once = true;  // row labels only next to the first panel
  AxisLabels rows, columns;
};

const WeightMap& widest(std::span<const WeightMap> maps) {
  return *std::max_element(maps.begin(), maps.end(),
                           [](const WeightMap& a, const WeightMap& b) { return a.columns() < b.columns(); });
}

// The cell size with which `in_row` panels fill the width.
Grid grid_of(const FigurePage& page, std::span<const WeightMap> maps, std::size_t in_row) {
  const WeightMap& map = widest(maps);
  const double limit = 0.3 * page.room();
  const auto panels = static_cast<double>(in_row);
  Grid grid;
  grid.in_row = in_row;
  grid.labels_once =
      std::all_of(maps.begin(), maps.end(), [&](const WeightMap& m) { return m.queries == maps[0].queries; });
  grid.cell = kLargestCell;
  // Labels depend on the cell size and the cell size on the labels; two iterations are enough.
  for (int round = 0; round < 4; ++round) {
    grid.rows = row_labels(page.typesetter, map.queries, page.ink(), grid.cell, limit);
    grid.columns = column_labels(page.typesetter, map.keys, page.ink(), grid.cell, limit);
    grid.label_width = grid.rows.length + (0.5 + kAxisTitle) * page.font();
    grid.gap = 1.4 * page.font();
    const double labels = grid.label_width * (grid.labels_once ? 1 : panels);
    const double room = page.room() - labels - grid.gap * (panels - 1);
    double cell = room / (panels * static_cast<double>(map.columns()));
    // Labels above the last columns extend beyond the map's right side.
    for (std::size_t j = 0; j < map.keys.size(); ++j) {
      const double columns = (panels - 1) * static_cast<double>(map.columns()) + static_cast<double>(j) + 0.5;
      cell = std::min(cell, (room - overhang(page.typesetter, grid.columns, j)) / columns);
    }
    grid.cell = std::clamp(cell, 0.05, kLargestCell);
  }
  return grid;
}

Grid best_grid(const FigurePage& page, std::span<const WeightMap> maps) {
  for (std::size_t in_row = maps.size(); in_row > 1; --in_row) {
    const Grid grid = grid_of(page, maps, in_row);
    const double side = grid.cell * static_cast<double>(widest(maps).columns());
    if (grid.cell < kTightHeight * page.font() && side < 150) continue;
    // Rows of equal length: two and two, not three and one.
    const std::size_t rows = (maps.size() + in_row - 1) / in_row, even = (maps.size() + rows - 1) / rows;
    return even == in_row ? grid : grid_of(page, maps, even);
  }
  return grid_of(page, maps, 1);
}

void add_panel(FigurePage& page, const WeightMap& map, const Grid& grid, double x, bool with_rows) {
  const Box box{x, page.y, grid.cell * static_cast<double>(map.columns()),
                grid.cell * static_cast<double>(map.rows())};
  page.cells(map, box);
  AxisLabels columns = grid.columns, rows = grid.rows;
  if (map.keys.size() != columns.texts.size() || map.queries.size() != rows.texts.size()) {
    columns = column_labels(page.typesetter, map.keys, page.ink(), grid.cell, 0.3 * page.room());
    rows = row_labels(page.typesetter, map.queries, page.ink(), grid.cell, 0.3 * page.room());
  }
  add_column_labels(page.drawing, columns, {x, page.y}, grid.cell);
  if (!with_rows) return;
  add_row_labels(page.drawing, rows, {x, page.y}, grid.cell);
  const TextLook look = page.quiet(0.9);
  const std::string title = page.typesetter.fitted(map.row_axis, look, std::max(box.height, 4 * page.font()));
  page.drawing.add(TextItem{
      {x - grid.label_width + 0.9 * page.font(), page.y + box.height / 2}, title, look, Anchor::middle, 90});
}

// A row of panels: titles, axis titles, words, cells.
void add_row(FigurePage& page, std::span<const WeightMap> maps, const Grid& grid, bool alone) {
  const double start = page.y, panel = grid.cell * static_cast<double>(widest(maps).columns());
  double bottom = start, x = page.left();
  std::vector<double> lefts;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    if (i == 0 || !grid.labels_once) x += grid.label_width;
    lefts.push_back(x);
    page.y = start;
    const double from = alone ? page.left() : x;
    page.heading(shown(maps[i].title), maps[i].tag(), from, i + 1 == maps.size() ? page.right() : x + panel);
    bottom = std::max(bottom, page.y);
    x += panel + grid.gap;
  }
  const TextLook look = page.quiet(0.9);
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const double room = i + 1 == maps.size() ? page.right() - lefts[i] : panel;
    page.drawing.add(TextItem{{lefts[i], bottom + 1.1 * page.font()},
                              page.typesetter.fitted(maps[i].column_axis, look, room),
                              look});
  }
  const double top = bottom + 1.4 * page.font() + height_of(grid.columns);
  for (std::size_t i = 0; i < maps.size(); ++i) {
    page.y = top;
    add_panel(page, maps[i], grid, lefts[i], i == 0 || !grid.labels_once);
    bottom = std::max(bottom, top + grid.cell * static_cast<double>(maps[i].rows()));
  }
  page.y = bottom + page.font();
}

Drawing panels(std::span<const WeightMap> given, const FigureStyle& style, std::string title) {
  FigurePage page(style, std::move(title));
  // Not finer than its pixels.
  const auto most = static_cast<Index>(std::max(16.0, 0.7 * style.width() * style.dpi / 72));
  std::vector<WeightMap> maps;
  for (const WeightMap& map : given) {
    check(map);
    const Index by = std::max((map.columns() + most - 1) / most, (map.rows() + most - 1) / most);
    maps.push_back(pooled(map, {(map.rows() + by - 1) / by, (map.columns() + by - 1) / by}));
  }
  const Grid grid = best_grid(page, maps);
  for (std::size_t i = 0; i < maps.size(); i += grid.in_row) {
    if (i > 0) page.y += 0.6 * page.font();
    add_row(page, std::span(maps).subspan(i, std::min(grid.in_row, maps.size() - i)), grid, maps.size() == 1);
  }
  const bool masked =
      std::any_of(maps.begin(), maps.end(), [](const WeightMap& m) { return m.has_masked(); });
  for (const bool is_signed : {false, true}) {
    const bool has =
        std::any_of(maps.begin(), maps.end(), [&](const WeightMap& m) { return m.is_signed == is_signed; });
    if (has)
      page.legend({.is_signed = is_signed,
                   .has_masked = masked && (is_signed == maps[0].is_signed),
                   .masked_words = maps[0].masked_words,
                   .quantity = maps[0].quantity});
  }
  const std::string note = pooling_note(maps[0]);
  if (!note.empty()) page.paragraph(note);
  return page.finish();
}

}  // namespace

Drawing heat_map_figure(std::span<const WeightMap> maps, const FigureStyle& style) {
  if (maps.empty()) throw Error(ErrorKind::usage, "draw.map", "figure: no map to draw");
  const std::string what = maps[0].quantity.empty() ? "Attention weights" : maps[0].quantity;
  return panels(maps, style, concat(what, ", ", shown(maps[0].title)));
}

Drawing comparison_figure(const WeightMap& a, const WeightMap& b, const FigureStyle& style) {
  std::vector<WeightMap> maps = {a, b, difference(a, b)};
  maps[0].title = concat("A: ", a.title);
  maps[1].title = concat("B: ", b.title);
  maps[2].title = "B − A";
  return panels(maps, style, concat("Attention weights compared: ", shown(a.title), " and ", shown(b.title)));
}

}  // namespace headlight::draw
