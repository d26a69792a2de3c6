#include <fmt/core.h>

#include <algorithm>

#include "draw/heat_map_text.h"
#include "draw/terminal_line.h"

namespace headlight::draw {
namespace {

constexpr int kGap = 2, kLongestLabel = 24;

std::string number(const WeightMap& map, Index row, Index column) {
  if (!map.sees(row, column)) return "-";
  const double x = map.weight(row, column);
  const std::string text = map.is_signed ? fmt::format("{:+.4f}", x) : fmt::format("{:.4f}", x);
  return text == "-0.0000" || text == "+0.0000" ? "0.0000" : text;
}

int column_width(const WeightMap& map, Index column) {
  int width = std::min(kLongestLabel, display_width(shown(map.keys[static_cast<std::size_t>(column)])));
  for (Index i = 0; i < map.rows(); ++i) width = std::max(width, display_width(number(map, i, column)));
  return width;
}

}  // namespace

std::string weight_table(const WeightMap& map, const TerminalStyle& style) {
  check(map);
  int left = 0;
  for (const std::string& label : map.queries) left = std::max(left, display_width(shown(label)));
  left = std::min(left, kLongestLabel);
  std::vector<int> widths;
  for (Index j = 0; j < map.columns(); ++j) widths.push_back(column_width(map, j));

  std::string out;
  for (Index first = 0; first < map.columns();) {
    Index last = first;
    for (int used = left; last < map.columns(); ++last) {
      used += kGap + widths[static_cast<std::size_t>(last)];
      if (style.width > 0 && used > style.width && last > first) break;
    }
    if (first > 0) out += "\n";
    for (Index i = -1; i < map.rows(); ++i) {  // -1: the words above
      TerminalLine line;
      line.text(left_aligned(i < 0 ? "" : shown(map.queries[static_cast<std::size_t>(i)]), left));
      for (Index j = first; j < last; ++j) {
        const auto column = static_cast<std::size_t>(j);
        line.text(std::string(kGap, ' '));
        line.text(right_aligned(i < 0 ? shown(map.keys[column]) : number(map, i, j), widths[column]));
      }
      out += line.finish();
    }
    first = last;
  }
  return in_glyphs(std::move(out), style);
}

}  // namespace headlight::draw
