// The attention of one head for one token, step by step: recomputed in float64 from the input and the parameters of the
// layer, by the formulas of the model's family.
#pragma once

#include <optional>
#include <vector>

#include "headlight/head_place.h"
#include "headlight/nn.h"

#pragma GCC visibility push(default)

namespace headlight {

using Numbers = std::vector<double>;

struct StepsRequest {
  Part part = Part::decoder;
  HeadPlace place;
  Index query = 0, key = 0;  // tokens
};

// From a token to its query or key. Steps that the model does not have are empty.
struct TokenSteps {
  Index token = 0;
  Numbers stream;             // input of the norm before the layer
  double mean = 0, size = 1;  // of that norm: subtracted (layer norms only), and divided by
  Numbers x;                  // input of the layer
  Numbers latent;  // latent attention: low-rank projection of x and its norm, the input of the projection
  Numbers row;     // the row of parameters for the first element of the projection
  double row_bias = 0;
  Numbers projected;         // W·x + b
  double head_size = 1;      // divisor of the norm of queries and keys
  Numbers normed;            // after that norm
  Numbers turned;            // after the rotation by the token's position
  bool normed_last = false;  // the norm came after the rotation
  double growth = 1;         // Llama 4: factor of queries at late positions
  Numbers grown;

  // The final vector, which enters the dot product.
  [[nodiscard]] const Numbers& ready() const;
};

struct Rotation {
  bool interleaved = false;  // pairs (2j, 2j+1) instead of (j, j + half)
  Index first = 0;           // index of the first pair
  Index half = 0;            // pairs
  Numbers frequencies;       // radians per position, one for each pair
  double factor = 1;         // of cos and sin
};

struct HeadSteps {
  StepsRequest request;
  Index width = 0, head_dim = 0, heads = 0;
  Index kv_head = 0, kv_heads = 0;
  std::optional<nn::NormConfig> norm;  // before the layer
  Numbers norm_weight, norm_bias;      // effective factors and offsets
  bool qkv_bias = false, out_bias = false, cross = false;
  bool adds_positions = false;  // positions were added to the embeddings
  std::optional<nn::NormConfig> head_norm;
  nn::HeadNormPlace head_norm_place = nn::HeadNormPlace::each;
  std::optional<Rotation> rotation;

  TokenSteps query, key;
  std::vector<Numbers> keys, values;  // of all tokens, after all steps

  double scale = 1;
  bool usual_scale = true;  // 1/√head_dim
  double softcap = 0;
  double slope = 0;        // ALiBi
  Index position = 0;      // of the query among the keys
  bool has_bias = false;   // learned relative positions
  bool has_terms = false;  // DeBERTa: the two relative terms, whose sum is the bias
  std::optional<double> sink;
  Visibility visible;
  Range seen;  // visible keys

  // One number per key. Hidden keys are NaN, and 0 in the weights.
  Numbers dots, scaled, capped, alibi, bias, scores, exps, weights;
  Numbers content_to_position, position_to_content;  // scaled
  double top = 0, sum = 0;  // the largest score, and the sum of all exps including the sink
  double sink_exp = 0, sink_weight = 0;
  Numbers context;     // Σ weight·value, [head_dim]
  Numbers output;      // contribution of this head to the output of the layer, [width]
  Numbers output_row;  // the row of parameters for its first element

  // The same row of weights as computed by the model, and by the float64 reference.
  Numbers kernel_weights, reference_weights;
  [[nodiscard]] double kernel_gap() const;  // largest difference between weights
  [[nodiscard]] double reference_gap() const;
};

}  // namespace headlight

#pragma GCC visibility pop
