// Laws that hold without an oracle (robustness.md 2.4), and the agreement of the calls that recompute.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/random.h"
#include "support/slices.h"
#include "support/targets.h"
#include "support/truth.h"

namespace headlight::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kU = 0x1p-24;

class Laws : public ::testing::TestWithParam<SimdTarget> {
 protected:
  Context ctx{{.threads = 2, .target = GetParam()}};

  Results run(const Instance& x, bool statistics = true) {
    Results found(x, x.c.dtype, statistics);
    attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, found.views());
    return found;
  }
};

AttentionStatistics statistics_of(const Results& r) {
  return {.max = r.max.view(),
          .entropy = r.entropy.view(),
          .sink_weight = r.sink_weight.view(),
          .topk_index = r.topk_index.view(),
          .topk_weight = r.topk_weight.view(),
          .received = r.received.view()};
}

Case ordinary(std::uint64_t seed) {
  Case c = random_case(seed);
  c.data = Data::normal;
  c.dtype = DType::f32;
  return c;
}

TEST_P(Laws, WeightsAreADistributionAndMixTheValues) {
  for (std::uint64_t n = 0; n < 150; ++n) {
    const Instance x(ordinary(200'000 + n));
    const Results found = run(x);
    const Problem p = check_call("laws", x.q.view(), x.k.view(), x.v.view(), x.options);
    for (Index s = 0; s < p.sequences; ++s) {
      const Sequence seq = p.sequence(s);
      for (Index h = 0; h < p.q_heads; ++h)
        for (Index i = 0; i < seq.q_len; ++i) {
          double total = found.sink_weight.view().at(seq.batch, h, seq.q_start + i);
          std::vector<double> mix(static_cast<std::size_t>(p.value_dim)), low(mix.size(), 0),
              high(mix.size(), 0);
          Index keys = 0;
          for (Index j = 0; j < seq.k_len; ++j) {
            const double w = found.weights.view().at(seq.item, h, i, j);
            ASSERT_GE(w, 0);
            ASSERT_LE(w, 1 + 4 * kU);
            total += w;
            if (w == 0) continue;
            ++keys;
            for (Index d = 0; d < p.value_dim; ++d) {
              const auto at = static_cast<std::size_t>(d);
              const double v = x.v.view().at(seq.batch, h / p.group, seq.k_start + j, d);
              mix[at] += w * v;
              low[at] = keys == 1 ? v : std::min(low[at], v);
              high[at] = keys == 1 ? v : std::max(high[at], v);
            }
          }
          const bool empty = found.lse.view().at(seq.batch, h, seq.q_start + i) == -kInf;
          const double limit = 4 * kU * (1 + std::log(static_cast<double>(keys) + 1));
          ASSERT_NEAR(total, empty ? 0 : 1, limit) << describe(x.c);
          for (Index d = 0; d < p.value_dim; ++d) {
            const auto at = static_cast<std::size_t>(d);
            const double out = found.out.view().at(seq.batch, h, seq.q_start + i, d);
            const double slack =
                4 * kU * std::sqrt(static_cast<double>(keys) + 1) * (std::abs(low[at]) + std::abs(high[at]));
            ASSERT_NEAR(out, mix[at], slack) << describe(x.c);
            // A sink pulls towards zero.
            ASSERT_GE(out, std::min(x.c.sinks ? 0.0 : low[at], low[at]) - slack) << describe(x.c);
            ASSERT_LE(out, std::max(x.c.sinks ? 0.0 : high[at], high[at]) + slack) << describe(x.c);
          }
        }
    }
  }
}

TEST_P(Laws, ALargerScoreNeverWeighsLess) {
  std::vector<double> keys;
  for (int j = 0; j < 300; ++j) keys.push_back(-3 + 0.02 * j);
  const Tensor q = Tensor::from(std::vector<double>{1}, {1, 1, 1, 1}), k = Tensor::from(keys, {1, 1, 300, 1});
  Tensor out({1, 1, 1, 1}), weights({1, 1, 1, 300});
  attention_forward(ctx, q, k, k, {}, AttentionOutputs{.out = out, .weights = weights});
  for (Index j = 1; j < 300; ++j) EXPECT_GE(weights.at(0, 0, 0, j), weights.at(0, 0, 0, j - 1));
}

// A bias of one constant shifts lse by it and leaves the rest, within the bound of the harder row.
TEST_P(Laws, AConstantAddedToAllScoresChangesOnlyLse) {
  for (std::uint64_t n = 0; n < 100; ++n) {
    Case c = ordinary(210'000 + n);
    c.bias = Spread::none;
    c.sinks = false;
    const Instance x(c);
    const Truth truth(x);
    Call shifted = call_of(x);
    const double constant[1] = {12.5};
    shifted.options.bias = ConstTensorView(constant, {1});
    const Answer moved = answer(ctx, shifted);
    for (Index b = 0; b < c.batch; ++b)
      for (Index h = 0; h < c.q_heads; ++h)
        for (Index i = 0; i < c.q_len; ++i) {
          RowBound row = truth.bound(b, h, i);
          row.hardness += constant[0];
          const double lse = truth.results().lse.view().at(b, h, i);
          if (lse == -kInf) ASSERT_EQ(moved.lse.at(b, h, i), -kInf);
          else
            ASSERT_NEAR(moved.lse.at(b, h, i), lse + constant[0], kU * (8 + 8 * row.hardness)) << describe(c);
          for (Index d = 0; d < c.value_dim; ++d) {
            const double exact = truth.results().out.view().at(b, h, i, d);
            double size = 0;  // an upper bound of A: all weights on the largest value
            for (Index t = 0; t < c.k_len; ++t) {
              const double v = std::abs(x.v.view().at(b, h * c.kv_heads / c.q_heads, t, d));
              if (std::isfinite(v)) size = std::max(size, v);
            }
            ASSERT_LE(scaled_error(moved.out.at(b, h, i, d), exact, kU, row, size, 0), 4) << describe(c);
          }
        }
  }
}

TEST_P(Laws, PermutingKeysChangesOnlyRounding) {
  Random random(7);
  for (std::uint64_t n = 0; n < 100; ++n) {
    Case c = ordinary(220'000 + n);
    c.visible = Visibility::all();
    c.mask = c.bias = Spread::none;
    c.alibi = false;
    c.ragged = Ragged::none;
    c.q_ends = c.k_ends = {};
    c.statistics = false;
    const Instance x(c);
    const Truth truth(x);
    std::vector<Index> order(static_cast<std::size_t>(c.k_len));
    std::iota(order.begin(), order.end(), Index{0});
    for (std::size_t j = order.size(); j > 1; --j)
      std::swap(order[j - 1], order[static_cast<std::size_t>(random.below(static_cast<Index>(j)))]);
    const auto permuted = [&](const ConstTensorView& from) {
      Tensor to(from.shape(), from.dtype());
      for (Index b = 0; b < from.dim(0); ++b)
        for (Index h = 0; h < from.dim(1); ++h)
          for (Index j = 0; j < from.dim(2); ++j)
            for (Index d = 0; d < from.dim(3); ++d)
              to.view().set(b, h, j, d, from.at(b, h, order[static_cast<std::size_t>(j)], d));
      return to;
    };
    const Tensor k = permuted(x.k.view()), v = permuted(x.v.view());
    const Results found(x, c.dtype, false);
    attention_forward(ctx, x.q.view(), k, v, x.options, found.views());
    ASSERT_EQ(truth.check(found).problem, "") << describe(c);  // of the keys in their old order
  }
}

TEST_P(Laws, OneKeyReturnsItsValueExactly) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    for (const Index dim : {1, 3, 16, 59, 128, 256}) {
      Case c{.seed = 3,
             .batch = 2,
             .q_heads = 4,
             .kv_heads = 2,
             .q_len = 5,
             .k_len = 1,
             .dim = dim,
             .value_dim = dim,
             .dtype = dtype};
      const Instance x(c);
      const Results found = run(x, false);
      for (Index b = 0; b < 2; ++b)
        for (Index h = 0; h < 4; ++h)
          for (Index i = 0; i < 5; ++i)
            for (Index d = 0; d < dim; ++d) {
              ASSERT_EQ(found.out.view().at(b, h, i, d), x.v.view().at(b, h / 2, 0, d)) << describe(c);
            }
    }
  }
}

TEST_P(Laws, GroupedHeadsAreRepeatedHeads) {
  for (std::uint64_t n = 0; n < 100; ++n) {
    Case c = random_case(230'000 + n);
    c.k_layout = c.v_layout = Layout::dense;
    const Instance x(c);
    const Results grouped = run(x, c.statistics);
    const auto repeated = [&](const ConstTensorView& from) {
      Tensor to({from.dim(0), c.q_heads, from.dim(2), from.dim(3)}, from.dtype());
      for (Index b = 0; b < from.dim(0); ++b)
        for (Index h = 0; h < c.q_heads; ++h)
          for (Index j = 0; j < from.dim(2); ++j)
            for (Index d = 0; d < from.dim(3); ++d)
              to.view().set(b, h, j, d, from.at(b, h * c.kv_heads / c.q_heads, j, d));
      return to;
    };
    const Tensor k = repeated(x.k.view()), v = repeated(x.v.view());
    Results flat(x, c.dtype, c.statistics);
    attention_forward(ctx, x.q.view(), k, v, x.options, flat.views());
    ASSERT_TRUE(grouped.same_bits(flat)) << describe(c);
  }
}

TEST_P(Laws, ScaleZeroIsTheMeanOfTheValues) {
  Case c{.seed = 4, .q_len = 3, .k_len = 100, .dim = 8, .value_dim = 5, .scale = 0.0};
  const Instance x(c);
  const Results found = run(x);
  for (Index d = 0; d < 5; ++d) {
    double mean = 0;
    for (Index j = 0; j < 100; ++j) mean += x.v.view().at(0, 0, j, d) / 100;
    for (Index i = 0; i < 3; ++i) EXPECT_NEAR(found.out.view().at(0, 0, i, d), mean, 1e-6);
  }
  EXPECT_NEAR(found.entropy.view().at(0, 0, 0), std::log(100), 1e-6);
}

TEST_P(Laws, TheFirstCallOfANewcomerIsTheSame) {
  const Instance x(Case{.seed = 6,
                        .q_heads = 2,
                        .q_len = 9,
                        .k_len = 9,
                        .dim = 16,
                        .value_dim = 16,
                        .visible = Visibility::causal()});
  const AttentionResult result = attention(x.q.view(), x.k.view(), x.v.view(), x.options);
  Context automatic;
  const Answer expected = answer(automatic, call_of(x));
  EXPECT_EQ(bits_of(result.out.view()), bits_of(expected.out.view()));
  EXPECT_EQ(bits_of(result.lse.view()), bits_of(expected.lse.view()));
}

// A case for what is recomputed from lse: any dtype, numbers and options, every fifth with several segments of keys. v is
// as wide as k, as calls without v have to take it to be.
Case recomputable(std::uint64_t seed) {
  Case c = random_training_case(seed);
  c.statistics = true;
  c.value_dim = c.dim;
  if (seed % 5 != 0) return c;
  c.batch = c.kv_heads = 1;
  c.q_heads = 2;
  c.q_len = 7;
  c.k_len = 2500;
  c.ragged = Ragged::none;
  c.q_ends = c.k_ends = {};
  return c;
}

// One NaN is like another.
bool same_number(double found, double wanted) {
  return found == wanted || (std::isnan(found) && std::isnan(wanted));
}

// Weights recomputed from lse, of any section, have the bits of those that the forward pass returns.
TEST_P(Laws, RecomputedWeightsHaveTheBitsOfTheForwardPass) {
  Random random(8);
  Index compared = 0;
  for (std::uint64_t n = 0; n < 100; ++n) {
    const Instance x(recomputable(240'000 + n));
    const Case& c = x.c;
    const Results forward = run(x);
    if (x.sequences() == 0 || c.q_len == 0 || c.k_len == 0) continue;
    const Problem p = check_call("laws", x.q.view(), x.k.view(), x.v.view(), x.options);
    WeightSlice slice{
        .batch = random.below(x.sequences()), .head = random.below(c.q_heads), .queries = {}, .keys = {}};
    const Sequence s = p.sequence(slice.batch);
    slice.queries = {random.below(s.q_rows + 1), s.q_rows};
    slice.keys = {random.below(s.k_rows + 1), s.k_rows};
    Tensor weights({slice.queries.size(), slice.keys.size()}, forward.lse.view().dtype());
    attention_weights(ctx, x.q.view(), x.k.view(), forward.lse.view(), x.options, slice, weights);
    for (Index i = slice.queries.begin; i < slice.queries.end; ++i)
      for (Index j = slice.keys.begin; j < slice.keys.end; ++j) {
        const double wanted = forward.weights.view().at(s.item, slice.head, i, j);
        const double found = weights.at(i - slice.queries.begin, j - slice.keys.begin);
        ASSERT_TRUE(same_number(found, wanted))
            << found << " but " << wanted << " at " << i << " " << j << " " << describe(c);
        compared += wanted != 0;
      }
  }
  EXPECT_GT(compared, 10'000);
}

TEST_P(Laws, RecomputedStatisticsHaveTheBitsOfTheForwardPass) {
  for (std::uint64_t n = 0; n < 100; ++n) {
    const Instance x(recomputable(241'000 + n));
    const Results forward = run(x), again(x, x.c.dtype, true);
    attention_statistics(ctx, x.q.view(), x.k.view(), forward.lse.view(), x.options, statistics_of(again));
    const auto same = [&](const char* name, const GuardedTensor& found, const GuardedTensor& wanted) {
      const std::vector<double> a = values_of(found.view()), b = values_of(wanted.view());
      ASSERT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end(), same_number))
          << name << " " << describe(x.c);
    };
    same("max", again.max, forward.max);
    same("entropy", again.entropy, forward.entropy);
    same("sink_weight", again.sink_weight, forward.sink_weight);
    same("topk_index", again.topk_index, forward.topk_index);
    same("topk_weight", again.topk_weight, forward.topk_weight);
    same("received", again.received, forward.received);
  }
}

// An lse of more keys than the call has is taken at its word: weights of one half of the keys of a merged row.
TEST_P(Laws, WeightsFollowAnLseOfMoreKeys) {
  Case c{.seed = 12, .q_heads = 2, .q_len = 9, .k_len = 80, .dim = 16, .value_dim = 16, .statistics = true};
  const Instance x(c);
  const Results whole = run(x);
  const ConstTensorView half = sliced(x.k.view(), 2, 0, 40);
  Tensor weights({9, 40});
  attention_weights(ctx, x.q.view(), half, whole.lse.view(), x.options,
                    {.batch = 0, .head = 1, .queries = {0, 9}, .keys = {0, 40}}, weights);
  for (Index i = 0; i < 9; ++i)
    for (Index j = 0; j < 40; ++j) {
      const double w = whole.weights.view().at(0, 1, i, j);
      ASSERT_NEAR(weights.at(i, j), w, 1e-5 * w);
    }
}

// NaN rows and empty rows are the same rows when recomputed from lse.
TEST_P(Laws, RecomputedStatisticsKeepNanAndNothing) {
  for (std::uint64_t n = 0; n < 100; ++n) {
    Case c = random_case(245'000 + n);
    c.data = Data::nan_visible;
    const Instance x(c);
    const Results forward = run(x), again(x, c.dtype, true);
    attention_statistics(ctx, x.q.view(), x.k.view(), forward.lse.view(), x.options, statistics_of(again));
    for (Index b = 0; b < c.batch; ++b)
      for (Index h = 0; h < c.q_heads; ++h)
        for (Index i = 0; i < c.q_len; ++i) {
          const double lse = forward.lse.view().at(b, h, i);
          if (std::isfinite(lse)) continue;
          ASSERT_TRUE(same_number(again.entropy.view().at(b, h, i), forward.entropy.view().at(b, h, i)))
              << describe(c);
          ASSERT_TRUE(same_number(again.max.view().at(b, h, i), forward.max.view().at(b, h, i)))
              << describe(c);
          ASSERT_TRUE(
              same_number(again.sink_weight.view().at(b, h, i), forward.sink_weight.view().at(b, h, i)))
              << describe(c);
          for (Index t = 0; t < c.top; ++t) {
            ASSERT_EQ(again.topk_index.view().at(b, h, i, t), forward.topk_index.view().at(b, h, i, t))
                << lse << describe(c);
            ASSERT_TRUE(same_number(again.topk_weight.view().at(b, h, i, t),
                                    forward.topk_weight.view().at(b, h, i, t)))
                << lse << describe(c);
          }
        }
  }
}

TEST_P(Laws, AHeatMapPoolsTheWeights) {
  const Instance x(Case{.seed = 9,
                        .q_heads = 2,
                        .q_len = 50,
                        .k_len = 70,
                        .dim = 16,
                        .value_dim = 8,
                        .visible = Visibility::causal(),
                        .statistics = true});
  const Results forward = run(x);
  const WeightSlice slice{.batch = 0, .head = 1, .queries = {3, 50}, .keys = {0, 66}};
  for (const Pool pool : {Pool::mean, Pool::max}) {
    Tensor map({7, 9});
    attention_heat_map(ctx, x.q.view(), x.k.view(), forward.lse.view(), x.options, slice, pool, map);
    for (Index r = 0; r < 7; ++r)
      for (Index m = 0; m < 9; ++m) {
        double total = 0, most = 0;
        Index cells = 0;
        for (Index i = 3 + 47 * r / 7; i < 3 + 47 * (r + 1) / 7; ++i)
          for (Index j = 66 * m / 9; j < 66 * (m + 1) / 9; ++j, ++cells) {
            total += forward.weights.view().at(0, 1, i, j);
            most = std::max(most, forward.weights.view().at(0, 1, i, j));
          }
        const double expected = pool == Pool::mean ? total / static_cast<double>(cells) : most;
        EXPECT_NEAR(map.at(r, m), expected, 1e-6);
      }
  }
}

// Keys in parts, merged in any order: E within 4 + 0.25·log2(parts) (robustness.md 2.7).
TEST_P(Laws, MergedPartsAreTheWhole) {
  Random random(10);
  for (std::uint64_t n = 0; n < 60; ++n) {
    Case c = ordinary(250'000 + n);
    c.visible = Visibility::all();
    c.mask = c.bias = Spread::none;
    c.alibi = c.sinks = false;
    c.ragged = Ragged::none;
    c.q_ends = c.k_ends = {};
    const Instance x(c);
    const Truth truth(x);
    const Call whole = call_of(x);
    std::vector<Index> cuts = {0, c.k_len};
    for (int i = 0; i < 4; ++i)
      cuts.push_back(random.below(c.k_len + 1));  // empty parts and parts of one key too
    std::sort(cuts.begin(), cuts.end());
    std::vector<std::size_t> order = {0, 1, 2, 3, 4};
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(static_cast<Index>(i)))]);
    const Results total(x, c.dtype, false);
    total.out.fill(0);
    total.lse.fill(-kInf);
    for (const std::size_t at : order) {
      const Index begin = cuts[at], size = cuts[at + 1] - begin;
      const Answer part = answer(
          ctx, {whole.q, sliced(whole.k, 2, begin, size), sliced(whole.v, 2, begin, size), whole.options});
      merge(total.out.view(), total.lse.view(), part.out, part.lse);
    }
    ASSERT_EQ(truth.check(total).problem, "") << describe(c);
    const auto before = total.out.bits();
    const Tensor nothing(total.out.view().shape());
    Tensor none(total.lse.view().shape());
    for (Index i = 0; i < none.shape().elements(); ++i)
      none.as<float>()[i] = -std::numeric_limits<float>::infinity();
    merge(total.out.view(), total.lse.view(), nothing, std::as_const(none));
    ASSERT_EQ(before, total.out.bits()) << "(0, -inf) changes no bit";
  }
}

// Rows are merged one by one: neither the number of threads nor the layout shows in the bits, and a strided
// part is as good as a dense one.
TEST_P(Laws, MergeHasTheSameBitsAtAnyThreadCountAndStride) {
  Random random(9);
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    const DType statistic = dtype == DType::f64 ? DType::f64 : DType::f32;
    const Shape shape{3, 5, 67, 40};
    Tensor out(shape, dtype), lse({3, 5, 67}, statistic), other(shape, dtype),
        other_lse({3, 5, 67}, statistic);
    for (Index b = 0; b < 3; ++b)
      for (Index h = 0; h < 5; ++h)
        for (Index i = 0; i < 67; ++i) {
          lse.view().set(b, h, i, i % 7 == 0 ? -kInf : i % 5 == 0 ? 1e4 : random.normal());
          other_lse.view().set(b, h, i, i % 3 == 0 ? -kInf : random.normal());
          for (Index d = 0; d < 40; ++d) {
            out.view().set(b, h, i, d, i % 7 == 0 ? 0 : random.normal());
            other.view().set(b, h, i, d, i % 3 == 0 ? 0 : random.normal());
          }
        }
    std::vector<std::vector<std::uint8_t>> found;
    for (const int threads : {1, 2, 3}) {
      for (const bool strided : {false, true}) {
        Context own({.threads = threads, .target = GetParam()});
        const GuardedTensor total(shape, dtype), sum({3, 5, 67}, statistic);
        Tensor wide({3, 5, 40, 67}, dtype);  // the last two axes swapped
        const TensorView swapped(wide.as<std::byte>(), dtype, shape, {5 * 40 * 67, 40 * 67, 1, 67});
        for (Index b = 0; b < 3; ++b)
          for (Index h = 0; h < 5; ++h)
            for (Index i = 0; i < 67; ++i) {
              sum.view().set(b, h, i, lse.at(b, h, i));
              for (Index d = 0; d < 40; ++d) {
                total.view().set(b, h, i, d, out.at(b, h, i, d));
                swapped.set(b, h, i, d, out.at(b, h, i, d));
              }
            }
        merge(own, strided ? swapped : total.view(), sum.view(), other, other_lse);
        if (strided) {
          for (Index b = 0; b < 3; ++b)
            for (Index h = 0; h < 5; ++h)
              for (Index i = 0; i < 67; ++i)
                for (Index d = 0; d < 40; ++d) total.view().set(b, h, i, d, swapped.at(b, h, i, d));
        }
        found.push_back(total.bits());
        const auto more = sum.bits();
        found.back().insert(found.back().end(), more.begin(), more.end());
        ASSERT_EQ(found.back(), found.front()) << threads << " threads" << (strided ? ", strided" : "");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Laws, ::testing::ValuesIn(supported_targets()), target_name);

}  // namespace
}  // namespace headlight::testing
