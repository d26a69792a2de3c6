// The parameters of one head in float64: the rows that compute its queries, keys and values, and the columns that project
// its output into the residual stream. Independent of whether matrices are stored transposed.
#pragma once

#include <vector>

#include "headlight/head_steps.h"
#include "inspect/loaded_model.h"

namespace headlight::inspect {

using headlight::Numbers;

[[nodiscard]] double dot(const Numbers& a, const Numbers& b);

struct MatrixRows {
  std::vector<Numbers> weights;
  Numbers bias;  // zeros where the layer has none

  [[nodiscard]] Numbers apply(const Numbers& x) const;  // W·x + b
};

struct HeadMatrices {
  MatrixRows q, k, v;  // [head_dim, width]; with latent attention […, rank], and k without its shared end
  MatrixRows out;      // [width, head_dim]: this head's part of W_O, and the bias that all heads share
  Index kv_head = 0;
};

// All rows of a layer.
[[nodiscard]] MatrixRows all_rows(const nn::Linear& linear);

// The attention layer of a part; part and layer must exist.
[[nodiscard]] const nn::MultiHeadAttention& attention_layer(const LoadedModel& loaded, Part part,
                                                            Index layer);
[[nodiscard]] HeadMatrices head_matrices(const nn::MultiHeadAttention& layer, Index head);

}  // namespace headlight::inspect
