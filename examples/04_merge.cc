// Attention over half the keys, twice, is attention over all of them: (out, lse) is a value that can be
// added. Threads, machines or a cache with a shared prefix can each compute a part of the keys.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "headlight/headlight.h"

using headlight::ConstTensorView;
using headlight::Index;

int main() {
  constexpr Index kHeads = 2, kQueries = 3, kKeys = 8, kDim = 4, kHalf = kKeys / 2;
  headlight::Tensor q({1, kHeads, kQueries, kDim}), k({1, kHeads, kKeys, kDim}), v({1, kHeads, kKeys, kDim});
  float wave = 0;  // any numbers will do
  for (headlight::Tensor* x : {&q, &k, &v}) {
    for (Index n = 0; n < x->view().shape().elements(); ++n) x->as<float>()[n] = std::sin(wave += 0.7F);
  }

  // Half the keys: the same memory and strides, a shorter shape, and for the second half a later start.
  const headlight::Shape half = {1, kHeads, kHalf, kDim},
                         strides = {kHeads * kKeys * kDim, kKeys * kDim, kDim, 1};
  const auto first = [&](const headlight::Tensor& x) {
    return ConstTensorView(x.as<float>(), headlight::DType::f32, half, strides);
  };
  const auto second = [&](const headlight::Tensor& x) {
    return ConstTensorView(x.as<float>() + kHalf * kDim, headlight::DType::f32, half, strides);
  };

  const headlight::AttentionResult whole = headlight::attention(q, k, v);
  headlight::AttentionResult sum = headlight::attention(q, first(k), first(v));
  const headlight::AttentionResult rest = headlight::attention(q, second(k), second(v));
  headlight::merge(sum.out, sum.lse, rest.out, rest.lse);

  double difference = 0;
  for (Index h = 0; h < kHeads; ++h) {
    for (Index i = 0; i < kQueries; ++i) {
      for (Index d = 0; d < kDim; ++d) {
        difference = std::max(difference, std::abs(sum.out.at(0, h, i, d) - whole.out.at(0, h, i, d)));
      }
    }
  }
  std::printf("first output row: whole %.6f, merged %.6f\n", whole.out.at(0, 0, 0, 0),
              sum.out.at(0, 0, 0, 0));
  std::printf("largest difference %.1e\n", difference);
  if (difference > 1e-6) {
    std::printf("the two halves do not agree with the whole\n");
    return 1;
  }
  std::printf("the two halves agree with the whole\n");
  return 0;
}
