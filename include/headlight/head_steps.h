// One head's attention from one token, step by step: computed again in float64 from what the layer read and
// from its parameters, following the recipe of the model at hand.
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

// A token on its way to a query or a key. Steps that the model does not have are empty.
struct TokenSteps {
  Index token = 0;
  Numbers stream;             // what the norm before the layer read
  double mean = 0, size = 1;  // of that norm: what it takes away (layer norms alone), and what it divides by
  Numbers x;                  // what the layer read
  Numbers latent;  // latent attention: what the projection read, made of x by a narrow layer and its norm
  Numbers row;     // the parameters that make the first number of the projection
  double row_bias = 0;
  Numbers projected;         // W·x + b
  double head_size = 1;      // what the norm of queries and keys divides by
  Numbers normed;            // after that norm
  Numbers turned;            // after the rotation by the token's position
  bool normed_last = false;  // the norm came after the rotation
  double growth = 1;         // Llama 4: queries far into a text are multiplied with this
  Numbers grown;

  // What meets the other one in the dot product.
  [[nodiscard]] const Numbers& ready() const;
};

struct Rotation {
  bool interleaved = false;  // pairs (2j, 2j+1) instead of (j, j + half)
  Index first = 0;           // where the first pair begins
  Index half = 0;            // pairs
  Numbers frequencies;       // radians per position, a number for each pair
  double factor = 1;         // of cos and sin
};

struct HeadSteps {
  StepsRequest request;
  Index width = 0, head_dim = 0, heads = 0;
  Index kv_head = 0, kv_heads = 0;
  std::optional<nn::NormConfig> norm;  // before the layer
  Numbers norm_weight, norm_bias;      // as they are multiplied and added
  bool qkv_bias = false, cross = false;
  std::optional<nn::NormConfig> head_norm;
  nn::HeadNormPlace head_norm_place = nn::HeadNormPlace::each;
  std::optional<Rotation> rotation;

  TokenSteps query, key;
  std::vector<Numbers> keys, values;  // of all tokens, ready for the dot product and for the sum

  double scale = 1;
  bool usual_scale = true;  // 1/√head_dim
  double softcap = 0;
  double slope = 0;        // ALiBi
  Index position = 0;      // the query's place among the keys
  bool has_bias = false;   // learned distances
  bool has_terms = false;  // DeBERTa: the two terms of distances, whose sum is the bias
  std::optional<double> sink;
  Visibility visible;
  Range seen;  // keys that the query may see

  // One number for each key; what the query cannot see is NaN until the weights, which are 0 there.
  Numbers dots, scaled, capped, alibi, bias, scores, exps, weights;
  Numbers content_to_position, position_to_content;  // scaled
  double top = 0, sum = 0;  // the largest score, and the sum of all exps, the sink's included
  double sink_weight = 0;
  Numbers context;     // Σ weight·value, [head_dim]
  Numbers output;      // what this head adds to the layer's output, [width]
  Numbers output_row;  // the parameters that make the first number of it

  // The same row as the model used it, and as the library's reference has it in float64.
  Numbers kernel_weights, reference_weights;
  [[nodiscard]] double kernel_gap() const;  // largest difference of a weight
  [[nodiscard]] double reference_gap() const;
};

}  // namespace headlight

#pragma GCC visibility pop
