// The way of tiny calls has the bits of the tile kernels. Entropy is what it does not compute: asking for it takes the
// other way.
#include <gtest/gtest.h>

#include <limits>

#include "attention/forward_block.h"
#include "support/cases.h"
#include "support/targets.h"

namespace headlight::testing {
namespace {

class SmallCalls : public ::testing::TestWithParam<SimdTarget> {
 protected:
  Context ctx{{.threads = 1, .target = GetParam()}};

  void expect_same_bits(const Instance& x) {
    const Results small(x, x.c.dtype, false), tiles(x, x.c.dtype, false);
    attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, small.views());
    Tensor entropy({x.c.batch, x.c.q_heads, x.c.q_len}, x.c.dtype);
    AttentionOutputs more = tiles.views();
    more.entropy = entropy.view();
    attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, more);
    ASSERT_TRUE(small.same_bits(tiles)) << describe(x.c);
    ASSERT_TRUE(small.gaps_intact());
  }
};

TEST_P(SmallCalls, HaveTheBitsOfTheTileKernels) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const auto pick = [&](std::uint64_t n, std::uint64_t by) { return static_cast<Index>(seed / by % n); };
    Case c{.seed = seed,
           .batch = 1 + pick(3, 7),
           .q_heads = 1 + pick(3, 2),
           .q_len = 1 + pick(17, 1),
           .k_len = 1 + pick(18, 3),
           .dim = 1 + pick(34, 5),
           .value_dim = 1 + pick(33, 11)};
    c.kv_heads = c.q_heads;
    c.dtype = seed % 3 == 0 ? DType::f64 : DType::f32;
    if (seed % 4 == 1) c.visible = Visibility::causal();
    if (seed % 4 == 2) c.visible = Visibility::window(3);
    if (seed % 4 == 3) c.visible.offset = -2;  // rows that see nothing
    if (seed % 5 == 0) c.q_layout = c.k_layout = c.v_layout = c.out_layout = Layout::token_major;
    if (seed % 9 == 0) c.data = Data::nan_hidden, c.mask = Spread::none;
    if (seed % 13 == 0) c.data = Data::nan_visible;
    expect_same_bits(Instance(c));
  }
}

// The case above would also pass if no call ever went this way.
TEST_P(SmallCalls, AreTakenByThisWay) {
  const Instance x(
      Case{.q_len = 6, .k_len = GetParam() == SimdTarget::scalar ? 1 : 4, .dim = 3, .value_dim = 3});
  const Problem problem = check_call("test", x.q.view(), x.k.view(), x.v.view(), x.options);
  const Results found(x, x.c.dtype, false);
  EXPECT_TRUE(run_small_call<float>(ctx, problem, found.views()));
  const Instance longer(Case{.q_len = 17, .k_len = 4, .dim = 3, .value_dim = 3});
  const Problem other = check_call("test", longer.q.view(), longer.k.view(), longer.v.view(), longer.options);
  const Results untouched(longer, longer.c.dtype, false);
  EXPECT_FALSE(run_small_call<float>(ctx, other, untouched.views()));
}

INSTANTIATE_TEST_SUITE_P(Targets, SmallCalls, ::testing::ValuesIn(supported_targets()), target_name);

}  // namespace
}  // namespace headlight::testing
