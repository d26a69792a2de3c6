// One line for each query, for texts that are still being written: a small bar for each key, and the keys
// that have most.
#pragma once

#include <string>

#include "draw/terminal_style.h"
#include "draw/weight_map.h"

namespace headlight::draw {

struct RowLayout {
  int label = 14;        // columns for the query's name
  int bars = 0;          // columns for the bars, whatever the number of keys; 0: as many as there are keys
  Index named_keys = 3;  // how many keys are named with their weights
};

// `map` has one row. "chat        |▁ █     |  cat 0.88  The 0.05": a bar's height is the weight, a full one is
// style.top. More keys than columns share columns, the largest of each is drawn. In a table there are
// no bars.
[[nodiscard]] std::string row_text(const WeightMap& map, const TerminalStyle& style,
                                   const RowLayout& layout = {});

}  // namespace headlight::draw
