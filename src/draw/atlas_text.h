// A small map of each head, as many in a line as the terminal is wide.
#pragma once

#include <span>
#include <string>

#include "draw/terminal_style.h"
#include "draw/weight_map.h"

namespace headlight::draw {

// `in_row` maps are in one row if they fit: the heads of a layer. As a table: a line for each map with its
// largest weight.
[[nodiscard]] std::string atlas_text(std::span<const WeightMap> maps, Index in_row,
                                     const TerminalStyle& style);

// Two maps of one shape and their difference.
[[nodiscard]] std::string compared_maps_text(const WeightMap& a, const WeightMap& b,
                                             const TerminalStyle& style);

}  // namespace headlight::draw
