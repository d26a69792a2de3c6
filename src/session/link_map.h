// One link in all heads: layers below each other, heads side by side.
#pragma once

#include <span>

#include "draw/weight_map.h"
#include "inspect/attention_map.h"
#include "inspect/encoded_text.h"

namespace headlight::session {

struct LinkMap {
  draw::WeightMap drawn;
  inspect::AttentionMap numbers;
};
// `rows`: the query's row of each head, by layer. Heads that were not requested are hidden.
[[nodiscard]] LinkMap link_map(std::span<const inspect::AttentionMap> rows, Part part,
                               const inspect::Word& query, const inspect::Word& key);

}  // namespace headlight::session
