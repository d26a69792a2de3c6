#include "draw/map_cells.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/concat.h"

namespace headlight::draw {
namespace {

std::string repeated(std::string_view glyph, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += glyph;
  return out;
}

// " .41", "1.00", "-.07": two digits after the point, and no zero before it.
std::string cell_number(double x, bool is_signed) {
  std::string text = is_signed ? fmt::format("{:+.2f}", x) : fmt::format("{:.2f}", x);
  if (text == "-0.00" || text == "+0.00") text = "0.00";
  const std::size_t zero = text.find("0.");
  if (zero != std::string::npos && (zero == 0 || text[zero - 1] == '+' || text[zero - 1] == '-'))
    text.erase(zero, 1);
  return text;
}

std::string shade_cell(double x, int width, const TerminalStyle& style, bool is_signed) {
  const double place = std::abs(transferred(style.top > 0 ? x / style.top : 0, style.transfer));
  const std::size_t count = shade_count(style);
  const std::size_t level = std::min(static_cast<std::size_t>(place * static_cast<double>(count)), count - 1);
  if (!is_signed) return repeated(shade(style, level), width);
  const std::string_view sign = level == 0 ? " " : x < 0 ? "-" : "+";
  return concat(sign, repeated(shade(style, level), width - 1));
}

// One cell on a separate line.
void append_single(TerminalLine& line, const WeightMap& map, Index row, Index column, int width,
                   const TerminalStyle& style) {
  if (!map.sees(row, column)) {
    line.text(repeated(masked_glyph(style), width), dim_code(style));
    return;
  }
  const double x = map.weight(row, column);
  const std::string number = style.numbers ? right_aligned(cell_number(x, map.is_signed), width) : "";
  if (!style.colored()) {
    line.text(style.numbers ? number : shade_cell(x, width, style, map.is_signed));
    return;
  }
  const Paint ground = paint_of(x, style, map.is_signed);
  if (style.numbers) line.put(number, ink_on(ground), ground);
  else line.put(repeated(" ", width), {}, ground);
}

// Two cells, one above the other, in half blocks.
void append_pair(TerminalLine& line, const WeightMap& map, Index upper, Index column, int width,
                 const TerminalStyle& style) {
  const auto paint = [&](Index row) -> TerminalLine::Color {
    if (row >= map.rows() || !map.sees(row, column)) return {};
    return paint_of(map.weight(row, column), style, map.is_signed);
  };
  const TerminalLine::Color above = paint(upper), below = paint(upper + 1);
  if (above) line.put(repeated("▀", width), above, below);
  else if (below) line.put(repeated("▄", width), below, {});
  else line.text(repeated(masked_glyph(style), width), dim_code(style));
}

}  // namespace

std::string_view masked_glyph(const TerminalStyle& style) { return style.pick("·", "/"); }

std::size_t shade_count(const TerminalStyle& style) {
  return style.unicode() ? kShades.size() : kAsciiShades.size();
}

std::string_view shade(const TerminalStyle& style, std::size_t level) {
  return style.unicode() ? kShades[level] : kAsciiShades[level];
}

int least_cell_width(const TerminalStyle& style, bool is_signed) {
  if (style.numbers) return kNumberColumns + (is_signed ? 1 : 0);
  return is_signed && !style.colored() ? 2 : 1;
}

Index cell_lines(const WeightMap& map, const TerminalStyle& style) {
  return (map.rows() + style.rows_on_line() - 1) / style.rows_on_line();
}

void append_cells(TerminalLine& line, const WeightMap& map, Index number, int cell_width,
                  const TerminalStyle& style) {
  for (Index column = 0; column < map.columns(); ++column) {
    if (style.rows_on_line() == 2) append_pair(line, map, 2 * number, column, cell_width, style);
    else append_single(line, map, number, column, cell_width, style);
  }
}

}  // namespace headlight::draw
