#include "draw/heat_map_text.h"

#include <algorithm>

#include "core/concat.h"
#include "draw/column_labels.h"
#include "draw/legend_text.h"
#include "draw/map_cells.h"
#include "draw/terminal_line.h"

namespace headlight::draw {
namespace {

constexpr int kGap = 1;           // between labels and cells
constexpr int kWidestCell = 4;    // wider cells are not more readable
constexpr Index kMostRows = 120;  // a map higher than two screens is pooled

int widest(const std::vector<std::string>& labels) {
  int width = 0;
  for (const std::string& label : labels) width = std::max(width, display_width(shown(label)));
  return width;
}

int digits(Index x) { return static_cast<int>(std::to_string(x).size()); }

// The layout.
struct Layout {
  ColumnLabels columns;
  int label = 0;   // width of one row label
  int number = 0;  // width of the number before it, 0 without
};

// The labels to the left of the cells: one, or those of the upper and the lower row.
int left_width(const Layout& layout, const TerminalStyle& style) {
  const int one = layout.label + (layout.number > 0 ? layout.number + 1 : 0);
  return style.rows_on_line() == 2 ? 2 * (one + 2) + 1 + kGap : one + kGap;
}

// The widest form of labels that fits, or none if the columns have to be pooled.
std::optional<Layout> fitting(const WeightMap& map, const TerminalStyle& style) {
  const int count = static_cast<int>(map.columns()), least = least_cell_width(style, map.is_signed);
  Layout layout;
  layout.label = std::min(widest(map.queries), style.width / (style.rows_on_line() == 2 ? 7 : 5));
  layout.columns.left = left_width(layout, style);
  const int room = style.width - layout.columns.left, label = widest(map.keys);

  const auto with = [&](LabelForm form, int cell_width) {
    layout.columns.form = form;
    layout.columns.cell_width = cell_width;
    return layout;
  };
  if (!map.is_pooled()) {
    if ((label + 1) * count <= room) return with(LabelForm::flat, std::max({label + 1, least, kWidestCell}));
    layout.columns.height = std::min(label, kAngledLines);
    const int cell = std::min(std::max(kWidestCell, least), (room - layout.columns.height) / count);
    if (cell >= std::max(2, least)) return with(LabelForm::angled, cell);
  }
  layout.number = digits((map.rows() - 1) * map.rows_in_cell);
  layout.columns.left = left_width(layout, style);
  const int cell = std::min(std::max(2, least), (style.width - layout.columns.left) / count);
  if (cell < least) return std::nullopt;
  return with(LabelForm::numbered, cell);
}

// Pools the map by the smallest factor that makes it fit.
Layout fit(WeightMap& map, const TerminalStyle& style) {
  const WeightMap whole = map;
  for (Index by = std::max<Index>(1, (whole.rows() + kMostRows - 1) / kMostRows);
       by <= whole.columns() || by == 1; ++by) {
    map = pooled(whole, {(whole.rows() + by - 1) / by, (whole.columns() + by - 1) / by});
    if (const auto layout = fitting(map, style)) return *layout;
  }
  // Not even one column fits beside its label: the line is longer than the terminal, which wraps it.
  Layout narrow;
  narrow.label = 1;
  narrow.number = digits((map.rows() - 1) * map.rows_in_cell);
  narrow.columns.form = LabelForm::numbered;
  narrow.columns.cell_width = least_cell_width(style, map.is_signed);
  narrow.columns.left = left_width(narrow, style);
  return narrow;
}

void append_row_label(TerminalLine& line, const WeightMap& map, Index row, const Layout& layout) {
  if (row >= map.rows()) return;
  if (layout.number > 0)
    line.text(right_aligned(std::to_string(row * map.rows_in_cell), layout.number) + " ");
  // A block of rows is labelled by its number; the first word shows its position.
  std::string label = map.queries[static_cast<std::size_t>(row)];
  if (map.rows_in_cell > 1) label = label.substr(0, label.find(" … "));
  line.text(left_aligned(shown(label), layout.label));
}

void append_labels(TerminalLine& line, const WeightMap& map, Index number, const Layout& layout,
                   const TerminalStyle& style) {
  if (style.rows_on_line() == 1) {
    append_row_label(line, map, number, layout);
  } else {
    line.text("▀ ", dim_code(style));
    append_row_label(line, map, 2 * number, layout);
    line.text(" ");
    if (2 * number + 1 < map.rows()) line.text("▄ ", dim_code(style));
    append_row_label(line, map, 2 * number + 1, layout);
  }
  line.advance_to(layout.columns.left);
}

std::string axis_line(const WeightMap& map, const Layout& layout, const TerminalStyle& style) {
  TerminalLine line;
  line.text(concat(map.row_axis, style.pick(" ↓", " v")), dim_code(style));
  line.text("  ");
  line.advance_to(layout.columns.left);
  line.text(concat(map.column_axis, style.pick(" →", " ->")), dim_code(style));
  return line.finish();
}

std::string sentence(std::string_view text, const TerminalStyle& style) {
  return wrapped(text, style.width, 0) + "\n";
}

// Explains the numbers above the columns.
std::string key_of_numbers(const WeightMap& map, const TerminalStyle& style) {
  if (map.is_pooled()) {
    const std::string size =
        map.rows_in_cell == map.columns_in_cell
            ? concat(map.rows_in_cell, style.pick("×", "x"), map.columns_in_cell)
            : concat(map.rows_in_cell, " rows ", style.pick("×", "x"), " ", map.columns_in_cell, " columns");
    return sentence(
        concat("Pooled to fit: each cell is the largest of ", size, " weights. Numbers count tokens from 0."),
        style);
  }
  if (map.keys == map.queries) return sentence("Columns are numbered like the rows.", style);
  std::vector<std::string> items;
  for (std::size_t j = 0; j < map.keys.size(); ++j) items.push_back(concat(j, " ", shown(map.keys[j])));
  return concat("keys  ", flowed(items, style.width, 6), "\n");
}

}  // namespace

std::string title_line(const WeightMap& map, const TerminalStyle& style) {
  const std::string tag = map.tag();
  const int room = style.width > 0 ? std::max(1, style.width - display_width(tag) - 2) : 1000;
  TerminalLine line;
  line.text(shortened(shown(map.title), room), bold_code(style));
  line.text("  ");
  line.text(tag, dim_code(style));
  return line.finish();
}

std::string heat_map_text(const WeightMap& original, const TerminalStyle& asked) {
  if (asked.look == Look::table) return weight_table(original, asked);
  check(original);
  WeightMap map = original;
  TerminalStyle style = asked;
  std::string note;
  const int numbers_need = style.numbers ? least_cell_width(style, map.is_signed) : 0;
  if (style.numbers && !fitting(map, style)) {
    style.numbers = false;
    note = sentence(concat("Numbers in ", map.columns(), " cells of ", numbers_need,
                           " columns do not fit in ", style.width, "."),
                    style);
  }
  const Layout layout = fit(map, style);

  std::string out = title_line(map, style) + axis_line(map, layout, style);
  if (layout.columns.form == LabelForm::numbered)
    out += column_number_line(map.keys.size(), map.columns_in_cell, layout.columns);
  else out += column_label_lines(map.keys, layout.columns, style);
  for (Index number = 0; number < cell_lines(map, style); ++number) {
    TerminalLine line;
    append_labels(line, map, number, layout, style);
    append_cells(line, map, number, layout.columns.cell_width, style);
    out += line.finish();
  }
  if (style.legend) {
    out.append("\n").append(legend_text(style, {.is_signed = map.is_signed,
                                                .has_masked = map.has_masked(),
                                                .masked_words = map.masked_words,
                                                .quantity = map.quantity}));
  }
  if (layout.columns.form == LabelForm::numbered) out += key_of_numbers(map, style);
  return in_glyphs(out + note, style);
}

}  // namespace headlight::draw
