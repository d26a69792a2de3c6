// Sequences whose keys fit in one tile have the bits of the tile kernels. Entropy is what their path does not compute:
// asking for it takes the other one.
#include <gtest/gtest.h>

#include "attention/forward_block.h"
#include "attention/short_units.h"
#include "support/cases.h"
#include "support/targets.h"

namespace headlight::testing {
namespace {

class ShortSequences : public ::testing::TestWithParam<SimdTarget> {
 protected:
  Context ctx{{.threads = 1, .target = GetParam()}};
};

// Column counts in whole vectors, and sizes around the limits of the path.
Case case_of(std::uint64_t seed) {
  const auto pick = [&](std::uint64_t n, std::uint64_t by) { return static_cast<Index>(seed / by % n); };
  Case c{.seed = seed,
         .batch = 1 + pick(3, 7),
         .kv_heads = 1 + pick(2, 2),
         .q_len = 1 + pick(50, 1) * 5 / 4,
         .k_len = 1 + pick(67, 3),
         .dim = 1 + pick(131, 5),
         .value_dim = 16 * (1 + pick(4, 11))};
  c.q_heads = c.kv_heads * (1 + pick(3, 13));
  c.dtype = seed % 3 == 0 ? DType::f64 : DType::f32;
  if (seed % 4 == 1) c.visible = Visibility::causal();
  if (seed % 4 == 2) c.visible = Visibility::window(20);
  if (seed % 4 == 3) c.visible = Visibility::causal(), c.visible.offset = -2;  // rows that see nothing
  if (seed % 5 == 0) c.q_layout = c.k_layout = c.v_layout = c.out_layout = Layout::token_major;
  if (seed % 7 == 0) {
    c.ragged = Ragged::both_lengths;
    for (Index i = 0; i < c.batch; ++i) {
      c.q_ends.push_back(c.q_len - i % c.q_len);
      c.k_ends.push_back(i % (c.k_len + 1));
    }
  }
  if (seed % 9 == 0) c.data = Data::nan_hidden;
  if (seed % 13 == 0) c.data = Data::nan_visible;
  if (seed % 17 == 0) c.data = Data::scores_1e38;
  if (seed % 19 == 0) c.data = Data::minus_zero;
  return c;
}

TEST_P(ShortSequences, HaveTheBitsOfTheTileKernels) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Instance x(case_of(seed));
    const Results found(x, x.c.dtype, false), tiles(x, x.c.dtype, false);
    attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, found.views());
    Tensor entropy({x.c.batch, x.c.q_heads, x.c.q_len}, x.c.dtype);
    AttentionOutputs more = tiles.views();
    more.entropy = entropy.view();
    attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, more);
    ASSERT_TRUE(found.same_bits(tiles)) << describe(x.c);
    ASSERT_TRUE(found.gaps_intact()) << describe(x.c);
  }
}

// The case above would also pass if no call ever went this way.
TEST_P(ShortSequences, AreTakenByThisWay) {
  const auto usable = [&](const Case& c) {
    const Instance x(c);
    const Problem problem = check_call("test", x.q.view(), x.k.view(), x.v.view(), x.options);
    const Results found(x, x.c.dtype, false);
    return ShortUnits<float>(ctx, problem, found.views()).usable();
  };
  Case c{.q_heads = 2, .kv_heads = 1, .q_len = 48, .k_len = 64, .dim = 128, .value_dim = 64};
  EXPECT_TRUE(usable(c));
  c.k_len = 65;
  EXPECT_FALSE(usable(c));
  c.k_len = 64, c.q_len = 49;  // more rows than a block
  EXPECT_FALSE(usable(c));
  c.q_len = 48, c.softcap = 20;
  EXPECT_FALSE(usable(c));
}

INSTANTIATE_TEST_SUITE_P(Targets, ShortSequences, ::testing::ValuesIn(supported_targets()), target_name);

}  // namespace
}  // namespace headlight::testing
