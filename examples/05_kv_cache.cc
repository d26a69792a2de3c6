// Generation needs the keys and values of all earlier tokens at each step. A cache stores them in the layout
// that the kernels read, so that a step is one pass over memory. Here: a prompt at once, then token by token,
// with rejected guesses removed; the same bits as one call over all tokens.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "headlight/headlight.h"

using headlight::ConstTensorView;
using headlight::Index;

constexpr Index kHeads = 4, kKvHeads = 2, kDim = 16, kPrompt = 40, kLength = 64;

// Tokens [begin, begin + n) of a tensor [1, heads, kLength, kDim].
ConstTensorView tokens(const headlight::Tensor& x, Index begin, Index n) {
  const Index heads = x.dim(1);
  return {x.as<float>() + begin * kDim,
          headlight::DType::f32,
          {1, heads, n, kDim},
          {heads * kLength * kDim, kLength * kDim, kDim, 1}};
}

int main() {
  headlight::Tensor q({1, kHeads, kLength, kDim}), k({1, kKvHeads, kLength, kDim}),
      v({1, kKvHeads, kLength, kDim});
  float wave = 0;  // any numbers will do
  for (headlight::Tensor* x : {&q, &k, &v}) {
    for (Index n = 0; n < x->view().shape().elements(); ++n) x->as<float>()[n] = std::sin(wave += 0.7F);
  }
  const headlight::AttentionOptions causal{.visible = headlight::Visibility::causal()};
  const headlight::AttentionResult whole = headlight::attention(q, k, v, causal);

  headlight::Context& ctx = headlight::default_context();
  headlight::KvCache cache(ctx, {.kv_heads = kKvHeads, .dim = kDim});
  Index equal = 0;
  const auto attend = [&](Index begin, Index n) {  // tokens that were just appended
    headlight::Tensor out({1, kHeads, n, kDim});
    headlight::attention_decode(ctx, tokens(q, begin, n), cache, causal, out);
    for (Index h = 0; h < kHeads; ++h) {
      for (Index i = 0; i < n; ++i) {
        const float* row = out.as<float>() + (h * n + i) * kDim;
        const float* expected = whole.out.as<float>() + (h * kLength + begin + i) * kDim;
        equal += std::equal(row, row + kDim, expected) ? 1 : 0;
      }
    }
  };

  cache.append(tokens(k, 0, kPrompt), tokens(v, 0, kPrompt));
  attend(0, kPrompt);
  for (Index at = kPrompt; at < kLength; ++at) {
    cache.append(tokens(k, 0, 3), tokens(v, 0, 3));  // three guesses, all wrong
    cache.truncate(0, at);
    cache.append(tokens(k, at, 1), tokens(v, at, 1));
    attend(at, 1);
  }
  std::printf("%lld tokens in the cache, %zu bytes\n", static_cast<long long>(cache.length(0)),
              cache.bytes());
  std::printf("%lld of %lld rows have the bits of the whole\n", static_cast<long long>(equal),
              static_cast<long long>(kHeads * kLength));
  return equal == kHeads * kLength ? 0 : 1;
}
