// The parameters around one head: the projections from x to q and k, and the contribution of the head to the stream.
#pragma once

#include <string>

#include "serve/run.h"

namespace headlight::serve {

// A 32-bit length, JSON of that length, then floats: W_O [width, value_dim] and its bias [width]; the output of the layer
// [rows, width] with this head alone, and with all heads; W_q [dim, width] and its bias [dim]; W_k and its bias;
// the input of the queries, x [rows, width], and for cross-attention the input of the keys, [columns, width].
[[nodiscard]] std::string head_matrices(Context& ctx, const Run& run, Part part, Index layer, Index head);
[[nodiscard]] std::size_t head_matrices_size(const Run& run, Part part, Index layer);  // approximate bytes

}  // namespace headlight::serve
