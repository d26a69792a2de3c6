// The worked example: a few words, their vectors, and every intermediate number of attention.
// Weights and outputs come from the library's public call, in float64.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headlight/tensor.h"

namespace headlight::lab {

struct Sentence {
  std::vector<std::string> words;
  Tensor x;              // [word, embedding], f64
  bool built_in = true;  // "Your journey starts with one step"
};
[[nodiscard]] Sentence journey();

enum class Parameters {
  none,      // queries, keys and values are the embeddings; scores are not scaled
  uniform,   // Wq, Wk, Wv uniform in 0 … 1
  per_head,  // each head has separate layers, uniform in ±1/sqrt(inputs); outputs are concatenated
  shared,    // one wide layer for all heads, split into heads, and an output projection
};

struct Recipe {
  Parameters parameters = Parameters::none;
  Index heads = 1;
  bool causal = false;
  std::uint32_t seed = 123;
};

struct HeadTrace {
  Tensor wq, wk, wv;  // [embedding, head_dim]; empty without parameters
  Tensor q, k, v;     // [word, head_dim]
  Tensor scores;      // [query, key]: q·k, of all pairs
  Tensor scaled;      // scores times scale
  Tensor exps;        // exp(scaled); 0 for hidden words
  Tensor sums;        // [query]: sum of the exps
  Tensor weights;     // after the softmax; 0 for hidden words
  Tensor context;     // [word, head_dim]
};

struct Trace {
  double scale = 1;
  Index head_dim = 0;
  std::vector<HeadTrace> heads;
  Tensor context;        // [word, heads·head_dim]: the heads concatenated
  Tensor wo, bias, out;  // output projection [heads·head_dim, out], [out], [word, out]; shared only
};

[[nodiscard]] Trace trace(const Sentence& sentence, const Recipe& recipe);

}  // namespace headlight::lab
