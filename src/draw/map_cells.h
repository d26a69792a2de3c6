// The cells of a map as glyphs, line by line, without labels and legend.
#pragma once

#include <array>
#include <string_view>

#include "draw/terminal_line.h"
#include "draw/terminal_style.h"
#include "draw/weight_map.h"

namespace headlight::draw {

inline constexpr std::array<std::string_view, 5> kShades = {" ", "░", "▒", "▓", "█"};
inline constexpr std::array<std::string_view, 10> kAsciiShades = {" ", ".", ":", "-", "=",
                                                                  "+", "*", "#", "%", "@"};
inline constexpr int kNumberColumns = 4;  // a cell with its number: " .41"

// The glyph of a cell that the query cannot see.
[[nodiscard]] std::string_view masked_glyph(const TerminalStyle& style);
// The number of shades of the style, and one of them.
[[nodiscard]] std::size_t shade_count(const TerminalStyle& style);
[[nodiscard]] std::string_view shade(const TerminalStyle& style, std::size_t level);
// The smallest width of a cell, including the glyph of its shade.
[[nodiscard]] int least_cell_width(const TerminalStyle& style, bool is_signed);

// Number of lines of the map's cells.
[[nodiscard]] Index cell_lines(const WeightMap& map, const TerminalStyle& style);
// Appends the cells of one of those lines, each `cell_width` columns wide.
void append_cells(TerminalLine& line, const WeightMap& map, Index number, int cell_width,
                  const TerminalStyle& style);

}  // namespace headlight::draw
