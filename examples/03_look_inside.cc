// Looking inside: from q, k and the log-sum-exp (lse) of a call, any part of the weights can be
// computed afterwards, in the memory of that part. Doing so never changes the result.
#include <array>
#include <cstdio>

#include "headlight/headlight.h"

using headlight::DType;
using headlight::Index;

int main() {
  constexpr Index kWords = 6, kWidth = 3, kTop = 3;
  const std::array<const char*, kWords> words = {"Your", "journey", "starts", "with", "one", "step"};
  const std::array<double, kWords* kWidth> vectors = {0.43, 0.15, 0.89, 0.55, 0.87, 0.66, 0.57, 0.85, 0.64,
                                                      0.22, 0.58, 0.33, 0.77, 0.25, 0.10, 0.05, 0.80, 0.55};
  const headlight::ConstTensorView x(vectors.data(), {1, 1, kWords, kWidth});
  const headlight::AttentionOptions options = {.scale = 1.0};
  headlight::Context& ctx = headlight::default_context();
  const auto [out, lse] = headlight::attention(x, x, x, options);

  // Which words does each word attend to most, and how concentrated is its attention? Entropy is 0 for a
  // single key and log(6) = 1.79 for uniform attention over six.
  headlight::Tensor index({1, 1, kWords, kTop}, DType::i64), weight({1, 1, kWords, kTop}, DType::f64);
  headlight::Tensor entropy({1, 1, kWords}, DType::f64), received({1, 1, kWords}, DType::f64);
  headlight::attention_statistics(
      ctx, x, x, lse, options,
      {.entropy = entropy, .topk_index = index, .topk_weight = weight, .received = received});
  for (Index i = 0; i < kWords; ++i) {
    std::printf("%-8s looks mostly at", words[static_cast<std::size_t>(i)]);
    for (Index n = 0; n < kTop; ++n) {
      const auto word = static_cast<std::size_t>(index.at(0, 0, i, n));
      std::printf("%s %s %.3f", n > 0 ? "," : "", words[word], weight.at(0, 0, i, n));
    }
    std::printf("; entropy %.3f\n", entropy.at(0, 0, i));
  }

  // The other direction: how much attention does each word receive, over all words?
  std::printf("\nreceived");
  for (Index j = 0; j < kWords; ++j)
    std::printf("  %s %.3f", words[static_cast<std::size_t>(j)], received.at(0, 0, j));

  // One row of the weight matrix, and only that row: from "step" to "journey starts".
  headlight::Tensor part({1, 2}, DType::f64);
  headlight::attention_weights(ctx, x, x, lse, options, {.queries = {5, 6}, .keys = {1, 3}}, part);
  std::printf("\n\nstep looks at journey with %.4f and at starts with %.4f\n", part.at(0, 0), part.at(0, 1));

  // The whole matrix pooled to any size: here 6 × 6 weights in 2 × 2 cells.
  headlight::Tensor map({2, 2}, DType::f64);
  headlight::attention_heat_map(ctx, x, x, lse, options, {.queries = {0, kWords}, .keys = {0, kWords}},
                                headlight::Pool::mean, map);
  std::printf("heat map %.3f %.3f / %.3f %.3f\n", map.at(0, 0), map.at(0, 1), map.at(1, 0), map.at(1, 1));
  return 0;
}
