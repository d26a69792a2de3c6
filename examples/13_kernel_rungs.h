// The first three rungs of the ladder of 13_kernel_ladder.cc and of `headlight lab ladder`: the same attention, from three
// loops to tiles. One head, 512 tokens of width 64, causal, float32.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "headlight/tensor.h"

namespace rungs {

using headlight::Index;

constexpr Index kTokens = 512, kWidth = 64;
constexpr float kScale = 0.125F;  // 1 / √64

struct Problem {
  const float *q, *k, *v;
  float* out;
};

inline float dot(const float* a, const float* b) {
  float sum = 0;
  for (Index d = 0; d < kWidth; ++d) sum += a[d] * b[d];
  return sum;
}

// Rung 1: a table of all scores, then all weights, then all sums.
inline void three_loops(const Problem& p) {
  std::vector<float> table(kTokens * kTokens, 0.0F);
  for (Index i = 0; i < kTokens; ++i)
    for (Index j = 0; j <= i; ++j)
      table[i * kTokens + j] = std::exp(kScale * dot(p.q + i * kWidth, p.k + j * kWidth));
  for (Index i = 0; i < kTokens; ++i) {
    float sum = 0;
    for (Index j = 0; j <= i; ++j) sum += table[i * kTokens + j];
    for (Index j = 0; j <= i; ++j) table[i * kTokens + j] /= sum;
  }
  for (Index i = 0; i < kTokens; ++i) {
    for (Index d = 0; d < kWidth; ++d) {
      float sum = 0;
      for (Index j = 0; j <= i; ++j) sum += table[i * kTokens + j] * p.v[j * kWidth + d];
      p.out[i * kWidth + d] = sum;
    }
  }
}

// Rung 2: the online softmax. No table; values are read in the order in which they lie in memory.
inline void one_pass(const Problem& p) {
  for (Index i = 0; i < kTokens; ++i) {
    float largest = -INFINITY, sum = 0;
    float* out = p.out + i * kWidth;
    std::fill(out, out + kWidth, 0.0F);
    for (Index j = 0; j <= i; ++j) {
      const float score = kScale * dot(p.q + i * kWidth, p.k + j * kWidth), top = std::max(largest, score);
      const float shrink = std::exp(largest - top), share = std::exp(score - top);
      sum = sum * shrink + share;
      for (Index d = 0; d < kWidth; ++d) out[d] = out[d] * shrink + share * p.v[j * kWidth + d];
      largest = top;
    }
    for (Index d = 0; d < kWidth; ++d) out[d] /= sum;
  }
}

// Rung 3: tiles of 64 keys. The largest score of a tile is found first, so that a tile shrinks the sums once.
inline void tiles(const Problem& p) {
  constexpr Index kTile = 64;
  for (Index i = 0; i < kTokens; ++i) {
    float largest = -INFINITY, sum = 0, scores[kTile];
    float* out = p.out + i * kWidth;
    std::fill(out, out + kWidth, 0.0F);
    for (Index first = 0; first <= i; first += kTile) {  // tiles after i are hidden: skipped
      const Index count = std::min(kTile, i + 1 - first);
      float top = largest;
      for (Index j = 0; j < count; ++j) {
        scores[j] = kScale * dot(p.q + i * kWidth, p.k + (first + j) * kWidth);
        top = std::max(top, scores[j]);
      }
      const float shrink = std::exp(largest - top);
      sum *= shrink;
      for (Index d = 0; d < kWidth; ++d) out[d] *= shrink;
      for (Index j = 0; j < count; ++j) {
        const float share = std::exp(scores[j] - top);
        sum += share;
        for (Index d = 0; d < kWidth; ++d) out[d] += share * p.v[(first + j) * kWidth + d];
      }
      largest = top;
    }
    for (Index d = 0; d < kWidth; ++d) out[d] /= sum;
  }
}

}  // namespace rungs
