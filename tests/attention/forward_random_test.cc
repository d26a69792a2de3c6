// Random cases on every SIMD target against the reference: every output within its limit, NaN where NaN
// belongs, no byte outside the outputs touched. HEADLIGHT_CASES raises the number for a nightly run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <memory>

#include "support/truth.h"

namespace headlight::testing {
namespace {

constexpr int kShards = 20;

int cases_per_shard() {
  const char* given = std::getenv("HEADLIGHT_CASES");
  return (given != nullptr ? std::max(kShards, std::atoi(given)) : 2000) / kShards;
}

class ForwardRandom : public ::testing::TestWithParam<int> {};

TEST_P(ForwardRandom, AgreesWithTheReference) {
  std::vector<std::unique_ptr<Context>> contexts;
  for (const SimdTarget target : supported_targets()) {
    contexts.push_back(std::make_unique<Context>(ContextOptions{.threads = 2, .target = target}));
  }
  double worst = 0;
  const int count = cases_per_shard();
  for (int n = 0; n < count; ++n) {
    const auto seed = static_cast<std::uint64_t>(GetParam()) * static_cast<std::uint64_t>(count) +
                      static_cast<std::uint64_t>(n);
    const Instance instance(random_training_case(seed));
    const Truth truth(instance);
    ASSERT_LE(truth.reference_error(), 8)
        << "the reference itself, case " << seed << " " << describe(instance.c);
    for (const auto& ctx : contexts) {
      const Results found(instance, instance.c.dtype, instance.c.statistics);
      attention_forward(*ctx, instance.q.view(), instance.k.view(), instance.v.view(), instance.options,
                        found.views());
      const Verdict verdict = truth.check(found);
      ASSERT_EQ(verdict.problem, "") << name_of(ctx->target()) << ", case " << seed << " "
                                     << describe(instance.c);
      worst = std::max(worst, verdict.worst_error);
    }
  }
  RecordProperty("worst_scaled_error", std::to_string(worst));
}

// The judge must not take NaN for a number: outputs start as NaN, and this one stays so.
TEST(ForwardTruth, SeesWhatWasNeverWritten) {
  const Instance x(Case{.q_len = 3, .k_len = 3, .dim = 4, .value_dim = 4});
  Context ctx({.threads = 1});
  const Results found(x, x.c.dtype, false);
  attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, found.views());
  EXPECT_EQ(Truth(x).check(found).problem, "");
  found.out.fill(std::numeric_limits<double>::quiet_NaN());
  EXPECT_NE(Truth(x).check(found).problem, "");
}

INSTANTIATE_TEST_SUITE_P(Shards, ForwardRandom, ::testing::Range(0, kShards));

}  // namespace
}  // namespace headlight::testing
