// Any finite bias is an ordinary number: a row that is -FLT_MAX throughout is an average, one 2.5e38 takes
// all of the weight, and what is recomputed from lse says the same. On every SIMD target, in every dtype.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "headlight/attention.h"
#include "headlight/kv_cache.h"
#include "headlight/reference.h"
#include "support/random.h"
#include "support/targets.h"

namespace headlight::testing {
namespace {

constexpr double kMost = std::numeric_limits<float>::max();
constexpr Index kQueries = 6, kKeys = 1100, kDim = 16, kHeads = 2;  // two segments, several tiles

Tensor random_tensor(Random& random, const Shape& shape, DType dtype) {
  Tensor x(shape, dtype);
  for (Index a = 0; a < shape[0]; ++a)
    for (Index b = 0; b < shape[1]; ++b)
      for (Index c = 0; c < shape[2]; ++c)
        for (Index d = 0; d < shape[3]; ++d) x.view().set(a, b, c, d, random.normal());
  return x;
}

Tensor as_f64(const ConstTensorView& x) {
  Tensor to(x.shape(), DType::f64);
  for (Index a = 0; a < x.dim(0); ++a)
    for (Index b = 0; b < x.dim(1); ++b)
      for (Index c = 0; c < x.dim(2); ++c)
        for (Index d = 0; d < (x.rank() > 3 ? x.dim(3) : 1); ++d) {
          if (x.rank() > 3) to.view().set(a, b, c, d, x.at(a, b, c, d));
          else to.view().set(a, b, c, x.at(a, b, c));
        }
  return to;
}

// One row for each way of writing such a bias.
double bias_at(Index query, Index key) {
  switch (query) {
    case 0: return -kMost;                                    // hides everything: the average
    case 1: return key == 7 ? 2.5e38 : 0;                     // one key takes all
    case 2: return key == 3 || key == 1030 ? 0.5 : -kMost;    // an ordinary mask
    case 3: return key % 2 == 0 ? -1e38 : -kMost;             // of two lows the higher one wins
    case 4: return key == 2 || key == 1050 ? kMost : -kMost;  // both ends
    default: return std::sin(static_cast<double>(key));
  }
}

class LargeBias : public ::testing::TestWithParam<DType> {
 protected:
  LargeBias() : bias({kQueries, kKeys}, DType::f32) {
    Random random(3);
    q = random_tensor(random, {1, kHeads, kQueries, kDim}, GetParam());
    k = random_tensor(random, {1, kHeads, kKeys, kDim}, GetParam());
    v = random_tensor(random, {1, kHeads, kKeys, kDim}, GetParam());
    for (Index i = 0; i < kQueries; ++i)
      for (Index j = 0; j < kKeys; ++j) bias.view().set(i, j, bias_at(i, j));
    options.bias = bias;
    exact_q = as_f64(q), exact_k = as_f64(k), exact_v = as_f64(v);
    reference::attention(exact_q, exact_k, exact_v, options,
                         {.out = out, .lse = lse, .max = largest, .entropy = entropy, .weights = weights});
  }
  // Of one stored number.
  [[nodiscard]] double rounding() const {
    return GetParam() == DType::bf16 ? 0x1p-8 : GetParam() == DType::f16 ? 0x1p-11 : 0;
  }
  [[nodiscard]] DType statistic() const { return GetParam() == DType::f64 ? DType::f64 : DType::f32; }

  Tensor q, k, v, bias;
  Tensor exact_q, exact_k, exact_v;
  AttentionOptions options;
  Tensor out{{1, kHeads, kQueries, kDim}, DType::f64}, lse{{1, kHeads, kQueries}, DType::f64},
      largest{{1, kHeads, kQueries}, DType::f64}, entropy{{1, kHeads, kQueries}, DType::f64},
      weights{{1, kHeads, kQueries, kKeys}, DType::f64};
};

TEST_P(LargeBias, ForwardAndItsStatistics) {
  for (const SimdTarget target : supported_targets()) {
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(name_of(target));
      Context ctx({.threads = threads, .target = target});
      const DType s = statistic();
      Tensor o({1, kHeads, kQueries, kDim}, GetParam()), l({1, kHeads, kQueries}, s), h(l.shape(), s),
          m(l.shape(), s), w(weights.shape(), s), top({1, kHeads, kQueries, 2}, DType::i64),
          received({1, kHeads, kKeys}, s);
      attention_forward(ctx, q, k, v, options,
                        {.out = o,
                         .lse = l,
                         .max = m,
                         .entropy = h,
                         .weights = w,
                         .topk_index = top,
                         .received = received});
      for (Index b = 0; b < kHeads; ++b) {
        for (Index i = 0; i < kQueries; ++i) {
          ASSERT_NEAR(l.at(0, b, i), lse.at(0, b, i), 1e-6 * std::abs(lse.at(0, b, i)) + 1e-5);
          ASSERT_NEAR(h.at(0, b, i), entropy.at(0, b, i), 1e-5) << "query " << i;
          for (Index d = 0; d < kDim; ++d)
            ASSERT_NEAR(o.at(0, b, i, d), out.at(0, b, i, d), 4e-6 + rounding() * 4) << "query " << i;
          for (Index j = 0; j < kKeys; ++j)
            ASSERT_NEAR(w.at(0, b, i, j), weights.at(0, b, i, j), 1e-5 * weights.at(0, b, i, j) + 1e-30);
        }
        EXPECT_EQ(top.at(0, b, 1, 0), 7);
        EXPECT_EQ(top.at(0, b, 4, 1), 1050);
        double all = 0;
        for (Index j = 0; j < kKeys; ++j) all += received.at(0, b, j);
        EXPECT_NEAR(all, kQueries, 1e-4);
      }
    }
  }
}

TEST_P(LargeBias, RecomputedFromLse) {
  for (const SimdTarget target : supported_targets()) {
    SCOPED_TRACE(name_of(target));
    Context ctx({.threads = 2, .target = target});
    const DType s = statistic();
    Tensor o({1, kHeads, kQueries, kDim}, GetParam()), l({1, kHeads, kQueries}, s), h(l.shape(), s),
        m(l.shape(), s), received({1, kHeads, kKeys}, s), slice({kQueries, kKeys}, s),
        map({kQueries, kKeys}, s);
    attention_forward(ctx, q, k, v, options, o, l);
    attention_statistics(ctx, q, k, l, options, {.max = m, .entropy = h, .received = received});
    for (Index b = 0; b < kHeads; ++b) {
      const WeightSlice part{0, b, {0, kQueries}, {0, kKeys}};
      attention_weights(ctx, q, k, l, options, part, slice);
      attention_heat_map(ctx, q, k, l, options, part, Pool::mean, map);
      std::vector<double> sums(kKeys);
      for (Index i = 0; i < kQueries; ++i) {
        ASSERT_NEAR(h.at(0, b, i), entropy.at(0, b, i), 1e-4) << "query " << i;
        ASSERT_NEAR(m.at(0, b, i), largest.at(0, b, i), 1e-6 * std::abs(largest.at(0, b, i)) + 1e-5);
        for (Index j = 0; j < kKeys; ++j) {
          const double truth = weights.at(0, b, i, j);
          ASSERT_NEAR(slice.at(i, j), truth, 1e-5 * truth + 1e-30) << "query " << i << " key " << j;
          ASSERT_EQ(map.at(i, j), slice.at(i, j));
          sums[static_cast<std::size_t>(j)] += truth;
        }
      }
      for (Index j = 0; j < kKeys; ++j)
        ASSERT_NEAR(received.at(0, b, j), sums[static_cast<std::size_t>(j)], 1e-4);
    }
  }
}

TEST_P(LargeBias, Backward) {
  Random random(5);
  const Tensor dout = random_tensor(random, {1, kHeads, kQueries, kDim}, GetParam());
  const auto like = [](const Tensor& x, DType dtype) { return Tensor(x.shape(), dtype); };
  for (const SimdTarget target : supported_targets()) {
    SCOPED_TRACE(name_of(target));
    Context ctx({.threads = 2, .target = target});
    Tensor o({1, kHeads, kQueries, kDim}, GetParam()), l({1, kHeads, kQueries}, statistic());
    attention_forward(ctx, q, k, v, options, o, l);
    Tensor dq = like(q, GetParam()), dk = like(k, GetParam()), dv = like(v, GetParam()),
           dbias = like(bias, statistic());
    attention_backward(ctx, {q, k, v, o, l}, dout, options, {dq, dk, dv, dbias});
    Tensor dq64 = like(q, DType::f64), dk64 = like(k, DType::f64), dv64 = like(v, DType::f64),
           dbias64 = like(bias, DType::f64);
    const Tensor o64 = as_f64(o), dout64 = as_f64(dout);
    reference::attention_backward({exact_q, exact_k, exact_v, o64, lse}, dout64, options,
                                  {dq64, dk64, dv64, dbias64});
    const double slack = 2e-5 + 8 * rounding();
    for (Index b = 0; b < kHeads; ++b) {
      for (Index d = 0; d < kDim; ++d) {
        for (Index i = 0; i < kQueries; ++i)
          ASSERT_NEAR(dq.at(0, b, i, d), dq64.at(0, b, i, d), slack) << "query " << i;
        for (Index j = 0; j < kKeys; ++j) {
          ASSERT_NEAR(dk.at(0, b, j, d), dk64.at(0, b, j, d), slack) << "key " << j;
          ASSERT_NEAR(dv.at(0, b, j, d), dv64.at(0, b, j, d), slack) << "key " << j;
        }
      }
    }
    for (Index i = 0; i < kQueries; ++i)
      for (Index j = 0; j < kKeys; ++j)
        ASSERT_NEAR(dbias.at(i, j), dbias64.at(i, j), 2e-5) << "query " << i << " key " << j;
  }
}

TEST_P(LargeBias, Decode) {
  if (GetParam() == DType::f64) return;  // a cache computes in f32
  for (const SimdTarget target : supported_targets()) {
    Context ctx({.threads = 2, .target = target});
    for (const KvType type : {KvType::f32, KvType::f16, KvType::bf16, KvType::int8}) {
      SCOPED_TRACE(name_of(target));
      KvCache cache(ctx, {.kv_heads = kHeads, .dim = kDim, .type = type});
      cache.append(k, v);
      Tensor stored_k({kHeads, kKeys, kDim}, DType::f64), stored_v({kHeads, kKeys, kDim}, DType::f64);
      cache.read(0, {0, kKeys}, stored_k, stored_v);
      const Shape whole{1, kHeads, kKeys, kDim};
      reference::attention(exact_q, ConstTensorView(stored_k.as<double>(), whole),
                           ConstTensorView(stored_v.as<double>(), whole), options, {.out = out, .lse = lse});
      Tensor o({1, kHeads, kQueries, kDim}, GetParam()), l({1, kHeads, kQueries}, DType::f32);
      attention_decode(ctx, q, cache, options, o, l);
      for (Index b = 0; b < kHeads; ++b)
        for (Index i = 0; i < kQueries; ++i) {
          ASSERT_NEAR(l.at(0, b, i), lse.at(0, b, i), 1e-6 * std::abs(lse.at(0, b, i)) + 1e-5);
          for (Index d = 0; d < kDim; ++d)
            ASSERT_NEAR(o.at(0, b, i, d), out.at(0, b, i, d), 4e-6 + rounding() * 4)
                << name_of(type) << " query " << i;
        }
    }
  }
}

// An f64 bias that f32 cannot hold is as large as f32 gets, and finite.
TEST_P(LargeBias, BeyondTheRangeOfTheArithmetic) {
  constexpr double kHuge = std::numeric_limits<double>::max();
  const std::vector<double> low(static_cast<std::size_t>(kKeys), -kHuge);
  std::vector<double> high(static_cast<std::size_t>(kKeys), 1e200);
  high[4] = 1e300;
  for (const SimdTarget target : supported_targets()) {
    Context ctx({.threads = 1, .target = target});
    Tensor o({1, kHeads, kQueries, kDim}, GetParam());
    options.bias = ConstTensorView(low.data(), {kKeys});
    attention_forward(ctx, q, k, v, options, o);
    for (Index d = 0; d < kDim; ++d) {
      double mean = 0;
      for (Index j = 0; j < kKeys; ++j) mean += exact_v.at(0, 1, j, d) / kKeys;
      EXPECT_NEAR(o.at(0, 1, 0, d), mean, 2e-6 + rounding()) << name_of(target);
    }
    options.bias = ConstTensorView(high.data(), {kKeys});
    attention_forward(ctx, q, k, v, options, o);
    for (Index d = 0; d < kDim; ++d) EXPECT_TRUE(std::isfinite(o.at(0, 0, 0, d))) << name_of(target);
    if (GetParam() == DType::f64) { EXPECT_EQ(o.at(0, 0, 0, 0), v.at(0, 0, 4, 0)); }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, LargeBias, ::testing::Values(DType::f32, DType::f64, DType::f16, DType::bf16),
                         [](const auto& param) { return std::string(name_of(param.param)); });

}  // namespace
}  // namespace headlight::testing
