// The first call: a sentence of six words looks at itself.
//
// Each word is a vector of three numbers. Attention compares every word with every word (dot products),
// turns each row of comparisons into weights that sum to one (softmax), and mixes the words with them.
#include <array>
#include <cstdio>

#include "headlight/headlight.h"

int main() {
  constexpr headlight::Index kWords = 6, kWidth = 3;
  const std::array<const char*, kWords> words = {"Your", "journey", "starts", "with", "one", "step"};
  const std::array<double, kWords* kWidth> vectors = {
      0.43, 0.15, 0.89,  // Your
      0.55, 0.87, 0.66,  // journey
      0.57, 0.85, 0.64,  // starts
      0.22, 0.58, 0.33,  // with
      0.77, 0.25, 0.10,  // one
      0.05, 0.80, 0.55,  // step
  };
  // Axes are always [batch, head, token, dim]. A view is a pointer with a shape; nothing is copied.
  const headlight::ConstTensorView x(vectors.data(), {1, 1, kWords, kWidth});

  // scale = 1 keeps the plain dot products; without it they are divided by the square root of the width.
  const headlight::AttentionOptions options = {.scale = 1.0};
  const auto [out, lse] = headlight::attention(x, x, x, options);

  // Weights are not stored by attention(); they are recomputed, with the same bits, for any section of the matrix.
  headlight::Tensor weights({kWords, kWords}, headlight::DType::f64);
  headlight::attention_weights(headlight::default_context(), x, x, lse, options,
                               {.queries = {0, kWords}, .keys = {0, kWords}}, weights);

  std::printf("how much each word looks at  Your journey starts with one step\n");
  for (headlight::Index i = 0; i < kWords; ++i) {
    std::printf("%-8s", words[static_cast<std::size_t>(i)]);
    for (headlight::Index j = 0; j < kWords; ++j) std::printf(" %.4f", weights.at(i, j));
    std::printf("\n");
  }

  std::printf("\nwhat each word has become\n");
  for (headlight::Index i = 0; i < kWords; ++i) {
    std::printf("%-8s", words[static_cast<std::size_t>(i)]);
    for (headlight::Index d = 0; d < kWidth; ++d) std::printf(" %.4f", out.at(0, 0, i, d));
    std::printf("\n");
  }
  return 0;
}
