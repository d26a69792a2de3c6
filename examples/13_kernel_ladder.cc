// From three loops to the library's kernel: the same attention four times, each rung timed on this machine and compared
// with the first. One head, 512 tokens of width 64, causal, float32.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

#include "headlight/headlight.h"

using headlight::Index;

constexpr Index kTokens = 512, kWidth = 64;
constexpr float kScale = 0.125F;  // 1 / √64

struct Problem {
  const float *q, *k, *v;
  float* out;
};

float dot(const float* a, const float* b) {
  float sum = 0;
  for (Index d = 0; d < kWidth; ++d) sum += a[d] * b[d];
  return sum;
}

// Rung 1: a table of all scores, then all weights, then all sums.
void three_loops(const Problem& p) {
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
void one_pass(const Problem& p) {
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
void tiles(const Problem& p) {
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

// Rung 4: the library, on one thread: tiles of queries and keys, and vector registers filled.
void library(const Problem& p) {
  static headlight::Context context({.threads = 1});
  const headlight::Shape shape{1, 1, kTokens, kWidth};
  const headlight::AttentionOptions causal{.visible = headlight::Visibility::causal()};
  headlight::attention_forward(context, headlight::ConstTensorView(p.q, shape),
                               headlight::ConstTensorView(p.k, shape), headlight::ConstTensorView(p.v, shape),
                               causal, headlight::TensorView(p.out, shape));
}

// Milliseconds of the fastest of three calls.
double time_of(void (*rung)(const Problem&), const Problem& problem) {
  double best = INFINITY;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    rung(problem);
    best = std::min(
        best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

int main() {
  const std::size_t size = kTokens * kWidth;
  std::vector<float> q(size), k(size), v(size), first(size), out(size);
  for (std::size_t i = 0; i < size; ++i) {  // smooth numbers between -1 and 1
    const auto x = static_cast<float>(i);
    q[i] = std::sin(0.37F * x), k[i] = std::sin(0.73F * x + 1), v[i] = std::sin(0.11F * x + 2);
  }
  const double reference = time_of(three_loops, {q.data(), k.data(), v.data(), first.data()});
  std::printf("three loops  %7.2f ms\n", reference);
  bool agree = true;
  const struct {
    const char* name;
    void (*rung)(const Problem&);
  } rungs[] = {{"one pass", one_pass}, {"tiles", tiles}, {"library", library}};
  for (const auto& [name, rung] : rungs) {
    const double time = time_of(rung, {q.data(), k.data(), v.data(), out.data()});
    float gap = 0;
    for (std::size_t i = 0; i < size; ++i) gap = std::max(gap, std::abs(out[i] - first[i]));
    agree = agree && gap < 1e-5F;
    std::printf("%-11s  %7.2f ms  %6.1f times as fast, largest difference %.1e\n", name, time,
                reference / time, gap);
  }
  std::printf("%s\n", agree ? "all rungs agree" : "the rungs differ");
  return agree ? 0 : 1;
}
