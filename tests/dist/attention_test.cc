// Random calls over all ranks. By heads: the bits of one process. By the ring: within the limits of one process, and the
// bits of a single process that merges the same shards.
#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/concat.h"
#include "dist/ranks.h"
#include "support/gradients.h"
#include "support/random.h"
#include "support/slices.h"
#include "support/truth.h"

namespace headlight::testing {
namespace {

using dist::Layout;
using dist::Method;
using dist::SequenceParallel;

int cases() {
  const char* given = std::getenv("HEADLIGHT_CASES");
  return given != nullptr ? std::max(5, std::atoi(given) / 10) : 16;
}

// Small cases, with chunks and dropout now and then.
Case small_case(std::uint64_t seed) {
  Random random(seed * 0x100000001B3U + 23);
  Case c = draw_case([&](Index n) { return random.below(n); }, Index{1} << 15);
  if (random.below(6) == 0) c.visible = Visibility::chunks(1 + random.below(c.k_len + 2));
  c.statistics = false;
  if (random.below(3) == 0)
    c.dropout = {.rate = random.below(2) == 0 ? 0.5 : 0.1, .seed = random.next(), .layer = random.next() % 3};
  return c;
}

// The shards of one call.
struct Shared {
  const Instance& x;
  SequenceParallel how;
  dist::Shards q_shards, k_shards;
  bool token_major;
  Shard q, k, v;

  Shared(const Instance& instance, const SequenceParallel& given)
      : x(instance),
        how(given),
        q_shards{x.c.q_len, ranks().size(), given.layout},
        k_shards{x.c.k_len, ranks().size(), given.layout},
        token_major(x.c.seed % 2 == 0),
        q(x.q.view(), q_shards, token_major),
        k(x.k.view(), k_shards, token_major),
        v(x.v.view(), k_shards, false) {
    q.cut(x.q.view());
    k.cut(x.k.view());
    v.cut(x.v.view());
    if (how.heads_at_once == 0) how.heads_at_once = static_cast<int>(x.c.seed % 3);
  }

  [[nodiscard]] Results forward(Context& ctx) const {
    Results found(x, x.c.dtype, false);
    const Shard out(found.out.view(), q_shards, token_major), lse(found.lse.view(), q_shards, false);
    dist::attention_forward(ctx, ranks(), q.view(), k.view(), v.view(), x.options, how, out.view(),
                            lse.view());
    out.join(found.out.view());
    lse.join(found.lse.view());
    return found;
  }

  [[nodiscard]] Gradients backward(Context& ctx, const BackwardInputs& in) const {
    Gradients found(x, x.c.dtype);
    const Shard out(in.out.view(), q_shards, token_major), dout(in.dout.view(), q_shards, false),
        lse(in.lse.view(), q_shards, false), dq(x.q.view(), q_shards, token_major),
        dk(x.k.view(), k_shards, false), dv(x.v.view(), k_shards, token_major);
    out.cut(in.out.view());
    dout.cut(in.dout.view());
    lse.cut(in.lse.view());
    dist::attention_backward(ctx, ranks(), {q.view(), k.view(), v.view(), out.view(), lse.view()},
                             dout.view(), x.options, how,
                             {dq.view(), dk.view(), dv.view(), found.dbias.view(), found.dsinks.view()});
    dq.join(found.dq.view());
    dk.join(found.dk.view());
    dv.join(found.dv.view());
    return found;
  }
};

const char* name_of(Layout layout) { return layout == Layout::zigzag ? "zig-zag" : "contiguous"; }

class ByLayout : public ::testing::TestWithParam<Layout> {
 protected:
  Context ctx{{.threads = 1}};
  [[nodiscard]] SequenceParallel by(Method method) const { return {.method = method, .layout = GetParam()}; }
};

class HeadExchange : public ByLayout {};
class Ring : public ByLayout {};
class Hybrid : public ByLayout {};

TEST_P(HeadExchange, ForwardHasTheBitsOfOneProcess) {
  for (int n = 0; n < cases(); ++n) {
    const Instance x(small_case(1000 + static_cast<std::uint64_t>(n)));
    Results alone(x, x.c.dtype, false);
    attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, alone.views());
    const Results found = Shared(x, by(Method::heads)).forward(ctx);
    ASSERT_EQ(all_problems(found.same_bits(alone) ? "" : "other bits"), "") << describe(x.c);
  }
}

// dbias that is summed over heads of several ranks has an order of its own.
bool bias_is_shared(const Case& c) {
  return c.kv_heads > 1 && c.bias != Spread::heads_queries_keys && c.bias != Spread::all;
}

TEST_P(HeadExchange, BackwardHasTheBitsOfOneProcess) {
  for (int n = 0; n < cases(); ++n) {
    const Instance x(small_case(2000 + static_cast<std::uint64_t>(n)));
    const BackwardInputs in(x);
    attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, in.out.view(), in.lse.view());
    Gradients alone(x, x.c.dtype), found = Shared(x, by(Method::heads)).backward(ctx, in);
    attention_backward(ctx, in.saved(x), in.dout.view(), x.options, alone.views());
    std::string problem;
    if (bias_is_shared(x.c) && ranks().size() > 1 && !alone.dbias.view().empty()) {
      problem =
          GradientTruth(x, in.dout.view(), in.out.view(), in.lse.view()).check(found, x.c.dtype).problem;
      alone.dbias = {}, found.dbias = {};
    }
    if (!found.same_bits(alone)) problem += " other bits";
    ASSERT_EQ(all_problems(problem), "") << describe(x.c);
  }
}

void expect_forward_within_limits(Context& ctx, const SequenceParallel& how, std::uint64_t first) {
  for (int n = 0; n < cases(); ++n) {
    const Instance x(small_case(first + static_cast<std::uint64_t>(n)));
    const Results found = Shared(x, how).forward(ctx);
    std::string problem;
    if (ranks().rank() == 0) problem = Truth(x).check(found).problem;
    ASSERT_EQ(all_problems(problem), "") << name_of(how.layout) << " case " << n << " " << describe(x.c);
  }
}
TEST_P(Ring, ForwardIsWithinTheLimits) { expect_forward_within_limits(ctx, by(Method::ring), 3000); }
TEST_P(Hybrid, ForwardIsWithinTheLimits) { expect_forward_within_limits(ctx, by(Method::hybrid), 6000); }

// Without a large lse under a bias, which is refused: see RefusesABiasThatLseCannotHold.
Case ring_backward_case(std::uint64_t seed) {
  Case c = small_case(seed);
  const bool large = c.data == Data::large_bias || c.data == Data::scores_1e4 || c.data == Data::scores_1e38;
  if (large && c.bias != Spread::none) c.data = Data::normal;
  return c;
}

void expect_backward_within_limits(Context& ctx, const SequenceParallel& how, std::uint64_t first) {
  for (int n = 0; n < cases(); ++n) {
    const Case c = ring_backward_case(first + static_cast<std::uint64_t>(n));
    const Instance x(c);
    const BackwardInputs in(x);
    attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, in.out.view(), in.lse.view());
    const Gradients found = Shared(x, how).backward(ctx, in);
    std::string problem;
    if (ranks().rank() == 0)
      problem = GradientTruth(x, in.dout.view(), in.out.view(), in.lse.view()).check(found, c.dtype).problem;
    ASSERT_EQ(all_problems(problem), "") << name_of(how.layout) << " case " << n << " " << describe(c);
  }
}
TEST_P(Ring, BackwardIsWithinTheLimits) { expect_backward_within_limits(ctx, by(Method::ring), 4000); }
TEST_P(Hybrid, BackwardIsWithinTheLimits) { expect_backward_within_limits(ctx, by(Method::hybrid), 7000); }

// Every way to arrange the ranks in rows gives the result of whole heads on one place of the ring, which is the ring of as
// many ranks: here two places, where there are four ranks.
TEST_P(Hybrid, RowsOfRanksChangeNothingButTheHops) {
  if (ranks().size() != 4) GTEST_SKIP() << "four ranks are two rows of two";
  Case c{
      .seed = 5, .batch = 2, .q_heads = 8, .kv_heads = 4, .q_len = 45, .k_len = 45, .dim = 8, .value_dim = 8};
  c.visible = Visibility::causal();
  c.dropout = {.rate = 0.3, .seed = 11};
  const Instance x(c);
  SequenceParallel how = by(Method::hybrid);
  const Results whole = Shared(x, how).forward(ctx);  // four key heads: no ring at all
  Results alone(x, c.dtype, false);
  attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, alone.views());
  EXPECT_EQ(all_problems(whole.same_bits(alone) ? "" : "other bits"), "");
  how.head_ranks = 2;
  const Results rows = Shared(x, how).forward(ctx);
  EXPECT_EQ(all_problems(rows.same_bits(alone) ? "the bits of whole heads: there was no ring" : ""), "");
  EXPECT_EQ(all_problems(Truth(x).check(rows).problem), "");
}

TEST_P(Ring, RefusesABiasThatLseCannotHold) {
  const Tensor bias = Tensor::from(std::vector<double>(8, -1e30), {8});
  Instance x(Case{.q_len = 8, .k_len = 8, .dim = 4, .value_dim = 4});
  x.options.bias = bias;
  const BackwardInputs in(x);
  attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, in.out.view(), in.lse.view());
  std::string problem = "no error";
  try {
    (void)Shared(x, by(Method::ring)).backward(ctx, in);
  } catch (const dist::RankError& error) {
    problem = error.code() == "dist.large_bias" && error.everywhere() ? "" : error.what();
  }
  EXPECT_EQ(all_problems(problem), "");
  const Results found = Shared(x, by(Method::ring)).forward(ctx);  // the forward pass takes it
  EXPECT_EQ(Truth(x).check(found).problem, "");
}

// Neither the number of threads, nor overlap, nor the heads that are computed at a time are part of the bits.
TEST_P(Ring, OverlapThreadsAndHeadsAtATimeChangeNothing) {
  Context two({.threads = 2});
  for (int n = 0; n < cases() / 4; ++n) {
    const Case c = ring_backward_case(5000 + static_cast<std::uint64_t>(n));
    const Instance x(c);
    const BackwardInputs in(x);
    attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, in.out.view(), in.lse.view());
    SequenceParallel waiting = by(Method::ring), all = waiting;
    waiting.overlap = false;
    waiting.heads_at_once = 1;
    all.heads_at_once = 1000;
    const Shared a(x, all), b(x, waiting);
    const bool same =
        a.forward(ctx).same_bits(b.forward(two)) && a.backward(ctx, in).same_bits(b.backward(two, in));
    ASSERT_EQ(all_problems(same ? "" : "other bits"), "") << describe(x.c);
  }
}

// One process that does, shard by shard, what the ranks do together: from a rank's own keys downwards, cyclically.
TEST_P(Ring, HasTheBitsOfOneProcessThatMergesTheSameShards) {
  const int size = ranks().size();
  for (const Visibility& visible : {Visibility::all(), Visibility::causal(), Visibility::window(9)}) {
    Case c{.seed = 7,
           .batch = 2,
           .q_heads = 4,
           .kv_heads = 2,
           .q_len = 37,
           .k_len = 37,
           .dim = 8,
           .value_dim = 8};
    c.visible = visible;
    const Instance x(c);
    const Shared shared(x, by(Method::ring));
    const Results found = shared.forward(ctx), one(x, c.dtype, false), part(x, c.dtype, false);
    one.out.fill(0);
    Tensor lse(one.lse.view().shape(), DType::f64), added(lse.shape(), DType::f64);
    std::fill_n(lse.as<double>(), lse.shape().elements(), -std::numeric_limits<double>::infinity());
    for (int r = 0; r < size; ++r)
      for (int hop = 0; hop < size; ++hop)
        for (const Range& rows : shared.q_shards.runs(r))
          for (const Range& keys : shared.k_shards.runs((r - hop + size) % size)) {
            const auto q = [&](const auto& view) { return sliced(view, 2, rows.begin, rows.size()); };
            const auto k = [&](const auto& view) { return sliced(view, 2, keys.begin, keys.size()); };
            AttentionOptions options = x.options;
            options.visible.offset = rows.begin - keys.begin;
            attention_forward(ctx, q(x.q.view()), k(x.k.view()), k(x.v.view()), options, q(part.out.view()),
                              q(part.lse.view()));
            for (Index n = 0; n < lse.shape().elements(); ++n)
              added.as<double>()[n] = static_cast<double>(part.lse.view().as<float>()[n]);
            merge(ctx, q(one.out.view()), q(lse.view()), q(part.out.view()), q(added.view()));
          }
    for (Index n = 0; n < lse.shape().elements(); ++n)
      one.lse.view().as<float>()[n] = static_cast<float>(lse.as<double>()[n]);
    ASSERT_EQ(all_problems(found.same_bits(one) ? "" : "other bits"), "") << describe(c);
  }
}

// Two thousand tokens, more than a segment of keys, a query block and a message that MPI sends at once.
TEST_P(Ring, LongSequences) {
  Case c{.seed = 3, .q_heads = 4, .kv_heads = 1, .q_len = 2050, .k_len = 2050, .dim = 16, .value_dim = 16};
  c.visible = Visibility::causal();
  const Instance x(c);
  Results alone(x, c.dtype, false);
  attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, alone.views());
  const Results ring = Shared(x, by(Method::ring)).forward(ctx),
                heads = Shared(x, by(Method::heads)).forward(ctx);
  double apart = 0;
  for (Index h = 0; h < c.q_heads; ++h)
    for (Index t = 0; t < c.q_len; ++t)
      for (Index d = 0; d < c.dim; ++d)
        apart = std::max(apart, std::abs(ring.out.view().at(0, h, t, d) - alone.out.view().at(0, h, t, d)));
  EXPECT_EQ(all_problems(apart < 2e-6 ? "" : concat("apart by ", apart)), "");
  EXPECT_EQ(all_problems(heads.same_bits(alone) ? "" : "other bits"), "");
}

INSTANTIATE_TEST_SUITE_P(Layouts, Hybrid, ::testing::Values(Layout::contiguous, Layout::zigzag));
INSTANTIATE_TEST_SUITE_P(Layouts, Ring, ::testing::Values(Layout::contiguous, Layout::zigzag));
INSTANTIATE_TEST_SUITE_P(Layouts, HeadExchange, ::testing::Values(Layout::contiguous, Layout::zigzag));

}  // namespace
}  // namespace headlight::testing
