// The parameters of one head: the rows that make its queries, keys and values, and the columns that take what it
// returns into the stream. In float64, whichever way round they are stored.
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
  MatrixRows q, k, v;  // [head_dim, width]; of latent attention […, rank], and k without its end
  MatrixRows out;      // [width, head_dim]: this head's part of W_O, and the bias that all heads share
  Index kv_head = 0;
};

// All rows of a layer.
[[nodiscard]] MatrixRows all_rows(const nn::Linear& linear);

// The attention layer of a part; both must exist.
[[nodiscard]] const nn::MultiHeadAttention& attention_layer(const LoadedModel& loaded, Part part,
                                                            Index layer);
[[nodiscard]] HeadMatrices head_matrices(const nn::MultiHeadAttention& layer, Index head);

}  // namespace headlight::inspect
