#include "draw/row_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "draw/bars_text.h"
#include "draw/terminal_line.h"

namespace headlight::draw {
namespace {

constexpr int kLongestKey = 12, kFewestBars = 8, kMostBars = 64;
constexpr int kName = kLongestKey + 7;  // "  cat          0.88"
constexpr std::array<std::string_view, 9> kBars = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 9> kAscii = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};

void append_bars(TerminalLine& line, const WeightMap& map, int columns, const TerminalStyle& style) {
  const WeightMap drawn = map.columns() > columns ? pooled(map, {1, columns}) : map;
  const std::string_view edge = style.pick("│", "|");
  line.text(edge, dim_code(style));
  const int start = line.column();
  for (Index j = 0; j < drawn.columns(); ++j) {
    const double x = drawn.sees(0, j) ? drawn.weight(0, j) : 0;
    const double part = style.top > 0 ? std::clamp(x / style.top, 0.0, 1.0) : 0;
    // Any weight of at least a hundredth is visible.
    const auto height =
        part < 0.01 ? 0 : std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(part * 8)));
    const std::string_view glyph = (style.unicode() ? kBars : kAscii)[height];
    if (height > 0 && style.colored()) line.put(glyph, paint_of(x, style, false), {});
    else line.text(glyph);
  }
  line.advance_to(start + columns);
  line.text(edge, dim_code(style));
}

}  // namespace

std::string row_text(const WeightMap& map, const TerminalStyle& style, const RowLayout& layout) {
  check(map);
  TerminalLine line;
  line.text(left_aligned(shown(map.queries[0]), layout.label), bold_code(style));
  Index names = layout.names;
  if (style.look != Look::table) {
    line.text("  ");
    const int room = style.width - line.column() - 2;  // between the edges and behind them
    const int wanted = std::min(layout.bars > 0 ? layout.bars : static_cast<int>(map.columns()), kMostBars);
    names = std::clamp<Index>((room - wanted) / kName, 0, names);
    if (names == 0 && layout.names > 0 && room - kName >= kFewestBars) names = 1;
    append_bars(line, map, std::max(1, std::min(wanted, room - static_cast<int>(names) * kName)), style);
  }
  Index named = 0;
  for (const Index j : keys_by_weight(map, 0)) {
    if (named++ == names) break;
    line.text("  ");
    line.text(left_aligned(shown(map.keys[static_cast<std::size_t>(j)]), kLongestKey));
    line.text(fmt::format(" {:.2f}", map.weight(0, j)));
  }
  return in_glyphs(line.finish(), style);
}

}  // namespace headlight::draw
