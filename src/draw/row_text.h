// One line per query, for text that is being generated: a small bar for each key, and the keys with the largest
// weights.
#pragma once

#include <string>

#include "draw/terminal_style.h"
#include "draw/weight_map.h"

namespace headlight::draw {

struct RowLayout {
  int label = 12;   // columns for the query's name
  int bars = 0;     // columns for the bars, however many keys there are; 0: one for each key
  Index names = 3;  // number of keys named with their weights, fewer if bars need the space
};

// `map` has one row. "chat        │▁█    │  cat          0.88": a bar's height is the weight, a full one means
// style.top. If there are more keys than columns, neighbours share a column and the largest is drawn. In a
// table there are no bars.
[[nodiscard]] std::string row_text(const WeightMap& map, const TerminalStyle& style,
                                   const RowLayout& layout = {});

}  // namespace headlight::draw
