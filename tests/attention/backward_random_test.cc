// Random cases on every SIMD target: every gradient within its limit, 0 where nothing was seen, no byte
// outside the gradients touched. HEADLIGHT_CASES raises the number for a nightly run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "headlight/reference.h"
#include "support/gradients.h"

namespace headlight::testing {
namespace {

constexpr int kShards = 20;

int cases_per_shard() {
  const char* given = std::getenv("HEADLIGHT_CASES");
  return (given != nullptr ? std::max(kShards, std::atoi(given) / 2) : 1000) / kShards;
}

std::uint64_t seed_of(std::uint64_t first, int shard, int count, int n) {
  return first + static_cast<std::uint64_t>(shard) * static_cast<std::uint64_t>(count) +
         static_cast<std::uint64_t>(n);
}

class BackwardRandom : public ::testing::TestWithParam<int> {};

TEST_P(BackwardRandom, AgreesWithTheTruth) {
  std::vector<std::unique_ptr<Context>> contexts;
  for (const SimdTarget target : supported_targets()) {
    contexts.push_back(std::make_unique<Context>(ContextOptions{.threads = 2, .target = target}));
  }
  double worst = 0;
  const int count = cases_per_shard();
  for (int n = 0; n < count; ++n) {
    const std::uint64_t seed = seed_of(200'000, GetParam(), count, n);
    const Instance x(random_training_case(seed));
    const BackwardInputs in(x);
    for (const auto& ctx : contexts) {
      attention_forward(*ctx, x.q.view(), x.k.view(), x.v.view(), x.options, in.out.view(), in.lse.view());
      const Gradients found(x, x.c.dtype);
      attention_backward(*ctx, in.saved(x), in.dout.view(), x.options, found.views());
      // The truth of what the call was given: each target has its own out and lse.
      const GradientTruth truth(x, in.dout.view(), in.out.view(), in.lse.view());
      const Verdict verdict = truth.check(found, x.c.dtype);
      ASSERT_EQ(verdict.problem, "") << name_of(ctx->target()) << ", case " << seed << " " << describe(x.c);
      worst = std::max(worst, verdict.worst_error);
    }
  }
  RecordProperty("worst_scaled_error", std::to_string(worst));
}

// The judge must not take NaN for a number: gradients start as NaN, and these stay so.
TEST(BackwardTruth, SeesWhatWasNeverWritten) {
  const Instance x(Case{.q_len = 3, .k_len = 3, .dim = 4, .value_dim = 4});
  const BackwardInputs in(x);
  Context ctx({.threads = 1});
  attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, in.out.view(), in.lse.view());
  const GradientTruth truth(x, in.dout.view(), in.out.view(), in.lse.view());
  EXPECT_NE(truth.check(Gradients(x, x.c.dtype), x.c.dtype).problem, "");
}

// Forward and backward together against the gradients of the exact function: what a training step sees.
double check_exactly(Context& ctx, const Case& c) {
  const Instance x(c);
  const BackwardInputs in(x);
  attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, in.out.view(), in.lse.view());
  const Gradients found(x, c.dtype);
  attention_backward(ctx, in.saved(x), in.dout.view(), x.options, found.views());
  const Tensor q = exact_copy(x.q.view()), k = exact_copy(x.k.view()), v = exact_copy(x.v.view());
  const Results exact(x, DType::f64, false);
  reference::attention(q, k, v, x.options, exact.views());
  const GradientTruth truth(x, in.dout.view(), exact.out.view(), exact.lse.view(), true);
  const Verdict verdict = truth.check(found, c.dtype);
  EXPECT_EQ(verdict.problem, "") << describe(c);
  return verdict.worst_error;
}

TEST_P(BackwardRandom, AgreesWithTheExactFunction) {
  Context ctx({.threads = 2});
  double worst = 0;
  const int count = cases_per_shard() / 2;
  for (int n = 0; n < count; ++n) {
    Case c = random_training_case(seed_of(300'000, GetParam(), count, n));
    if (c.dtype == DType::f16 || c.dtype == DType::bf16) c.dtype = DType::f32;
    worst = std::max(worst, check_exactly(ctx, c));
    if (HasFailure()) return;
  }
  RecordProperty("worst_scaled_error", std::to_string(worst));
}

// The one heavy weight of a row is dropped: what is left is about as small as weights can be.
TEST(BackwardDropout, TheOnlyHeavyWeight) {
  Context ctx({.threads = 2});
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Case c{.seed = seed, .q_len = 16, .k_len = 31, .dim = 8, .value_dim = 160, .data = Data::one_hot};
    c.dropout = {.rate = 0.9, .seed = seed};
    static_cast<void>(check_exactly(ctx, c));
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, BackwardRandom, ::testing::Range(0, kShards));

}  // namespace
}  // namespace headlight::testing
