#include "draw/bars_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/concat.h"
#include "draw/heat_map_text.h"
#include "draw/terminal_line.h"
#include "headlight/error.h"

namespace headlight::draw {
namespace {

constexpr int kLongestLabel = 24, kWidestBar = 60, kIndent = 2;
constexpr double kBarPlace = 0.8;  // bars have one colour, because their length is the number

const std::string& key(const WeightMap& map, Index column) {
  return map.keys[static_cast<std::size_t>(column)];
}

int label_width(const WeightMap& map) {
  int width = 4;
  for (const std::string& label : map.keys) width = std::max(width, display_width(shown(label)));
  return std::min(width, kLongestLabel);
}

void check_one_row(const WeightMap& map) {
  check(map);
  if (map.rows() == 1) return;
  throw Error(ErrorKind::usage, "draw.row",
              concat("bars show one query; the map \"", map.title, "\" has ", map.rows()));
}

std::string from_line(const WeightMap& map, const TerminalStyle& style) {
  TerminalLine line;
  line.text(map.row_axis, dim_code(style));
  line.text("  ");
  line.text(shown(map.queries[0]), bold_code(style));
  return line.finish();
}

TerminalLine::Color bar_color(const TerminalStyle& style, double place, bool is_signed) {
  if (!style.colored()) return {};
  return paint_of(style.top * untransferred(place, style.transfer), style, is_signed);
}

void append_bar(TerminalLine& line, double part, int cells, const TerminalStyle& style) {
  const std::string text = bar(part, cells, style.unicode() ? Glyphs::unicode : Glyphs::ascii);
  if (!text.empty()) line.put(text, bar_color(style, kBarPlace, false), {});
}

// "  animal  0.4123  ██████"
std::string bar_line(const WeightMap& map, Index column, int label, const TerminalStyle& style) {
  TerminalLine line;
  line.text(std::string(kIndent, ' '));
  line.text(left_aligned(shown(key(map, column)), label));
  if (!map.sees(0, column)) {
    line.text(style.look == Look::table ? "       -" : "       -  ");
    if (style.look != Look::table) line.text(map.masked_words, dim_code(style));
    return line.finish();
  }
  const double x = map.weight(0, column);
  line.text(fmt::format("  {:.4f}", x));
  if (style.look != Look::table) {
    line.text("  ");
    const int room = std::max(8, std::min(kWidestBar, style.width - line.column()));
    append_bar(line, style.top > 0 ? x / style.top : 0, room, style);
  }
  return line.finish();
}

// A bar from the middle of 2·half cells to the side of its sign.
void append_signed_bar(TerminalLine& line, double part, int half, const TerminalStyle& style) {
  const int start = line.column();
  const std::string_view block = style.pick("█", "#");
  // Half blocks are the finest step of a bar to the left.
  const auto halves = static_cast<int>(std::lround(std::min(std::abs(part), 1.0) * half * 2));
  const int whole = style.unicode() ? halves / 2 : (halves + 1) / 2;
  const bool odd = style.unicode() && halves % 2 == 1;
  const auto color = bar_color(style, part < 0 ? -kBarPlace : kBarPlace, true);
  std::string text;
  for (int i = 0; i < whole; ++i) text += block;
  if (part < 0) {
    if (odd) text.insert(0, "▐");
    line.advance_to(start + half - whole - (odd ? 1 : 0));
    if (!text.empty()) line.put(text, color, {});
    line.text(style.pick("│", "|"), dim_code(style));
  } else {
    line.advance_to(start + half);
    line.text(style.pick("│", "|"), dim_code(style));
    if (odd) text += "▌";
    if (!text.empty()) line.put(text, color, {});
  }
}

}  // namespace

std::vector<Index> keys_by_weight(const WeightMap& map, Index row) {
  std::vector<Index> order;
  for (Index j = 0; j < map.columns(); ++j) {
    if (map.sees(row, j)) order.push_back(j);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return map.weight(row, a) > map.weight(row, b); });
  return order;
}

std::string bars_text(const WeightMap& map, const TerminalStyle& style, Index most) {
  check_one_row(map);
  const std::string others = " others";
  const int label = std::max(label_width(map), most > 0 ? display_width(concat(map.columns(), others)) : 0);
  std::string out = style.look == Look::table ? "" : concat(title_line(map, style), from_line(map, style));
  std::vector<Index> order(map.keys.size());
  std::iota(order.begin(), order.end(), Index{0});
  double rest = 0;
  std::size_t left_out = 0;
  if (most > 0 && most < map.columns()) {
    order = keys_by_weight(map, 0);
    const std::size_t kept = std::min(order.size(), static_cast<std::size_t>(most));
    left_out = order.size() - kept;
    for (std::size_t i = kept; i < order.size(); ++i) rest += map.weight(0, order[i]);
    order.resize(kept);
  }
  for (const Index column : order) out += bar_line(map, column, label, style);
  if (left_out > 0) {
    out += concat(std::string(kIndent, ' '), left_aligned(concat(left_out, others), label),
                  fmt::format("  {:.4f}\n", rest));
  }
  return in_glyphs(std::move(out), style);
}

std::string top_keys_text(std::span<const WeightMap> maps, Index most, const TerminalStyle& style) {
  int name = 4;
  for (const WeightMap& map : maps) name = std::max(name, display_width(map.short_name));
  std::string out;
  for (const WeightMap& map : maps) {
    check(map);
    TerminalLine line;
    line.text(left_aligned(map.short_name, name), bold_code(style));
    Index listed = 0;
    for (const Index column : keys_by_weight(map, 0)) {
      if (listed++ == most) break;
      line.text("  ");
      line.text(left_aligned(shown(key(map, column)), std::min(12, label_width(map))));
      line.text(fmt::format(" {:.4f}", map.weight(0, column)));
    }
    out += line.finish();
  }
  return in_glyphs(std::move(out), style);
}

std::string compared_bars_text(const WeightMap& a, const WeightMap& b, const TerminalStyle& style) {
  check_one_row(a);
  check_one_row(b);
  const WeightMap change = difference(a, b);
  const int label = label_width(b);
  TerminalLine head;
  head.text(std::string(static_cast<std::size_t>(kIndent + label), ' '));
  head.text("       A       B      B-A", dim_code(style));
  std::string out;
  if (style.look != Look::table) {
    out = concat("A  ", title_line(a, style), "B  ", title_line(b, style), from_line(b, style));
  }
  out += head.finish();
  for (Index j = 0; j < b.columns(); ++j) {
    TerminalLine line;
    line.text(std::string(kIndent, ' '));
    line.text(left_aligned(shown(key(b, j)), label));
    const auto number = [&](const WeightMap& map) {
      line.text(map.sees(0, j) ? fmt::format("  {:.4f}", map.weight(0, j)) : "       -");
    };
    number(a);
    number(b);
    if (change.sees(0, j)) {
      const double x = change.weight(0, j);
      line.text(fmt::format("  {:+.4f}", x));
      if (style.look != Look::table) {
        line.text("  ");
        append_signed_bar(line, x / style.top,
                          std::max(4, std::min(kWidestBar, style.width - line.column() - 1) / 2), style);
      }
    } else {
      line.text("        -");
    }
    out += line.finish();
  }
  return in_glyphs(std::move(out), style);
}

}  // namespace headlight::draw
