#include "draw/atlas_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/concat.h"
#include "draw/heat_map_text.h"
#include "draw/legend_text.h"
#include "draw/map_cells.h"
#include "draw/terminal_line.h"
#include "headlight/error.h"

namespace headlight::draw {
namespace {

constexpr int kGap = 2, kSmallest = 8, kLargest = 40;

void check_all(std::span<const WeightMap> maps, Index in_row) {
  if (maps.empty() || in_row < 1) {
    throw Error(ErrorKind::usage, "draw.atlas",
                concat("an atlas of ", maps.size(), " maps, ", in_row, " in a row"));
  }
  for (const WeightMap& map : maps) check(map);
}

struct Layout {
  int width = kSmallest;  // columns of one map
  Index on_line = 1;      // maps side by side
};

Layout layout_of(int columns, Index in_row, int total) {
  Layout layout;
  const auto fits = [&](int width) { return std::max<Index>(1, (total + kGap) / (width + kGap)); };
  const int even = static_cast<int>((total - kGap * (in_row - 1)) / in_row);
  layout.width =
      std::min({std::max(even, kSmallest), std::max(columns, kSmallest), kLargest, std::max(total, 1)});
  // A row of heads that does not fit is split into equal parts.
  const Index parts = (in_row + fits(layout.width) - 1) / fits(layout.width);
  layout.on_line = (in_row + parts - 1) / parts;
  return layout;
}

// The maps of one line, each with its name above.
std::string atlas_line(std::span<const WeightMap> maps, const Layout& layout, const TerminalStyle& style) {
  TerminalLine names;
  std::vector<WeightMap> small;
  Index lines = 0;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const Index cells = std::max<Index>(1, layout.width / least_cell_width(style, maps[i].is_signed));
    small.push_back(pooled(maps[i], {cells, cells}));
    lines = std::max(lines, cell_lines(small.back(), style));
    names.advance_to(static_cast<int>(i) * (layout.width + kGap));
    names.text(shortened(maps[i].short_name, layout.width), dim_code(style));
  }
  std::string out = names.finish();
  for (Index number = 0; number < lines; ++number) {
    TerminalLine line;
    for (std::size_t i = 0; i < small.size(); ++i) {
      line.advance_to(static_cast<int>(i) * (layout.width + kGap));
      if (number >= cell_lines(small[i], style)) continue;
      append_cells(line, small[i], number, std::max(1, layout.width / static_cast<int>(small[i].columns())),
                   style);
    }
    out += line.finish();
  }
  return out;
}

struct Cell {
  Index row = 0, column = 0;
};

// The largest weight. A row that sees a single key gives it all its weight, which is not informative: such a
// row counts only if there is no other.
Cell strongest(const WeightMap& map) {
  Cell best;
  bool best_chose = false, found = false;
  for (Index i = 0; i < map.rows(); ++i) {
    Index seen = 0;
    for (Index j = 0; j < map.columns(); ++j) seen += map.sees(i, j) ? 1 : 0;
    const bool chose = seen > 1;
    for (Index j = 0; j < map.columns(); ++j) {
      if (!map.sees(i, j)) continue;
      const bool larger = map.weight(i, j) > map.weight(best.row, best.column);
      if (!found || (chose && !best_chose) || (chose == best_chose && larger)) {
        best = {i, j};
        best_chose = chose;
        found = true;
      }
    }
  }
  return best;
}

std::string summary(std::span<const WeightMap> maps) {
  int name = 4;
  for (const WeightMap& map : maps) name = std::max(name, display_width(map.short_name));
  std::string out = concat(left_aligned("head", name), "  largest  from -> to\n");
  for (const WeightMap& map : maps) {
    const Cell cell = strongest(map);
    out +=
        fmt::format("{}   {:.4f}  {} -> {}\n", left_aligned(map.short_name, name),
                    map.weight(cell.row, cell.column), shown(map.queries[static_cast<std::size_t>(cell.row)]),
                    shown(map.keys[static_cast<std::size_t>(cell.column)]));
  }
  return out;
}

}  // namespace

std::string atlas_text(std::span<const WeightMap> maps, Index in_row, const TerminalStyle& asked) {
  check_all(maps, in_row);
  if (asked.look == Look::table) return summary(maps);
  TerminalStyle style = asked;
  style.numbers = false;
  int columns = 0;
  bool masked = false, any_signed = false;
  for (const WeightMap& map : maps) {
    columns = std::max(columns, static_cast<int>(map.columns()) * least_cell_width(style, map.is_signed));
    masked = masked || map.has_masked();
    any_signed = any_signed || map.is_signed;
  }
  const Layout layout = layout_of(columns, in_row, style.width);
  std::string out;
  for (std::size_t first = 0; first < maps.size(); first += static_cast<std::size_t>(in_row)) {
    const auto row = maps.subspan(first, std::min(maps.size() - first, static_cast<std::size_t>(in_row)));
    for (std::size_t i = 0; i < row.size(); i += static_cast<std::size_t>(layout.on_line)) {
      out += atlas_line(row.subspan(i, std::min(row.size() - i, static_cast<std::size_t>(layout.on_line))),
                        layout, style);
    }
  }
  if (style.legend) {
    out += legend_text(style, {.is_signed = any_signed,
                               .has_masked = masked,
                               .masked_words = maps[0].masked_words,
                               .quantity = maps[0].quantity});
    out += concat("rows: ", maps[0].row_axis, ", columns: ", maps[0].column_axis, "\n");
  }
  if (columns > layout.width) out += "Pooled to fit: each cell is the largest weight of its block.\n";
  return in_glyphs(std::move(out), style);
}

std::string compared_maps_text(const WeightMap& a, const WeightMap& b, const TerminalStyle& style) {
  const WeightMap change = difference(a, b);
  TerminalStyle plain = style;
  plain.legend = false;
  const std::string gap = style.look == Look::table ? "" : "\n";
  const auto named = [&](std::string_view name, const WeightMap& map, const TerminalStyle& look) {
    // A table has no title, and three of them need names.
    return concat(name, "  ", look.look == Look::table ? title_line(map, look) : "", heat_map_text(map, look),
                  "\n");
  };
  return concat(named("A", a, plain), named("B", b, style), named(style.pick("B−A", "B-A"), change, style));
}

}  // namespace headlight::draw
