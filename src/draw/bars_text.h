// The weights of one query: a bar for each key.
#pragma once

#include <span>
#include <string>

#include "draw/terminal_style.h"
#include "draw/weight_map.h"

namespace headlight::draw {

// `map` has one row. With `most` > 0 only the largest weights, largest first, and one line for the rest.
[[nodiscard]] std::string bars_text(const WeightMap& map, const TerminalStyle& style, Index most = 0);

// The keys with the largest weights in each map's first row, a line for each map: "2.5  animal 0.41  street 0.22".
[[nodiscard]] std::string top_keys_text(std::span<const WeightMap> maps, Index most,
                                        const TerminalStyle& style);

// The same query twice: both weights and a bar for the signed difference. One row each, equal keys.
[[nodiscard]] std::string compared_bars_text(const WeightMap& a, const WeightMap& b,
                                             const TerminalStyle& style);

// The columns of a row that can be seen, by falling weight; equal ones from left to right.
[[nodiscard]] std::vector<Index> keys_by_weight(const WeightMap& map, Index row);

}  // namespace headlight::draw
