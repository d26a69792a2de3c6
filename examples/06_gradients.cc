// Training asks the reverse question: how should q, k and v change so that a loss decreases? A forward call
// keeps only its output and log-sum-exp; the backward call recomputes the rest. Here: words learn to attend
// to given words, by gradient descent.
#include <cstdio>

#include "headlight/headlight.h"

using headlight::Index;
using headlight::Tensor;

constexpr Index kWords = 4, kDim = 8;

int main() {
  Tensor q({1, 1, kWords, kDim}), k({1, 1, kWords, kDim}), v({1, 1, kWords, kDim});
  for (Index i = 0; i < kWords; ++i) {
    for (Index d = 0; d < kDim; ++d) {
      q.view().set(0, 0, i, d, 0.1 * static_cast<double>((i * 5 + d * 3) % 7) - 0.3);
      k.view().set(0, 0, i, d, 0.1 * static_cast<double>((i * 3 + d * 5) % 7) - 0.3);
    }
    v.view().set(0, 0, i, i, 1);  // one-hot values: the output shows the weights
  }
  // Every word should attend to the word before it, the first one to itself.
  const auto wanted = [](Index i, Index d) { return d == (i == 0 ? 0 : i - 1) ? 1.0 : 0.0; };

  headlight::Context& ctx = headlight::default_context();
  const headlight::AttentionOptions causal{.visible = headlight::Visibility::causal()};
  Tensor out(q.shape()), lse({1, 1, kWords}), dout(q.shape()), dq(q.shape()), dk(k.shape());
  for (int step = 0; step <= 200; ++step) {
    headlight::attention_forward(ctx, q, k, v, causal, out, lse);
    double loss = 0;  // half the squared distance, whose gradient is the distance
    for (Index i = 0; i < kWords; ++i) {
      for (Index d = 0; d < kDim; ++d) {
        const double off = out.at(0, 0, i, d) - wanted(i, d);
        dout.view().set(0, 0, i, d, off);
        loss += off * off / 2;
      }
    }
    if (step % 50 == 0) std::printf("step %3d  loss %.4f\n", step, loss);
    // Gradients of empty views are not computed: v is not trained.
    headlight::attention_backward(ctx, {q, k, v, out, lse}, dout, causal, {dq, dk, {}});
    for (Index n = 0; n < kWords * kDim; ++n) {
      q.as<float>()[n] -= 4 * dq.as<float>()[n];
      k.as<float>()[n] -= 4 * dk.as<float>()[n];
    }
  }
  for (Index i = 0; i < kWords; ++i) {
    std::printf("word %lld looks", static_cast<long long>(i));
    for (Index d = 0; d < kWords; ++d) std::printf(" %.1f", out.at(0, 0, i, d));
    std::printf("\n");
  }
  return 0;
}
