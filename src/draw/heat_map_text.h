// A map of weights as text: colours, shades, characters, or the numbers themselves.
#pragma once

#include <string>

#include "draw/terminal_style.h"
#include "draw/weight_map.h"

namespace headlight::draw {

// Title, column labels, rows with their labels, legend, and a note if something did not fit. Lines are
// at most style.width columns wide. Throws what check() throws.
[[nodiscard]] std::string heat_map_text(const WeightMap& map, const TerminalStyle& style);

// The same numbers as an aligned table: every weight, none pooled, "-" where the query cannot see the key.
// With a width, columns that do not fit follow in further blocks.
[[nodiscard]] std::string weight_table(const WeightMap& map, const TerminalStyle& style);

// "layer 2, head 5  exact"
[[nodiscard]] std::string title_line(const WeightMap& map, const TerminalStyle& style);

}  // namespace headlight::draw
