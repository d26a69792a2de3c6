// Figures of weight maps, for papers, slides and pages. Each is a drawing; encoded() converts it to a file.
#pragma once

#include <span>
#include <string>

#include "draw/drawing.h"
#include "draw/figure_style.h"
#include "draw/weight_map.h"

namespace headlight::draw {

// One map or several, with labels. As many side by side as stay readable.
[[nodiscard]] Drawing heat_map_figure(std::span<const WeightMap> maps, const FigureStyle& style);

// Small maps of all heads: `in_row` heads of a layer in a row, layers below each other.
// `captions`, if given, are drawn below the maps.
[[nodiscard]] Drawing atlas_figure(std::span<const WeightMap> maps, Index in_row, const FigureStyle& style,
                                   std::span<const std::string> captions = {});

// The weights of one query: a bar for each key. `map` has one row; `most` > 0 keeps only the largest.
[[nodiscard]] Drawing bars_figure(const WeightMap& map, const FigureStyle& style, Index most = 0);

// Two maps of one shape, and the signed difference: the second minus the first.
[[nodiscard]] Drawing comparison_figure(const WeightMap& a, const WeightMap& b, const FigureStyle& style);

}  // namespace headlight::draw
