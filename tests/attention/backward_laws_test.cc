// Laws of the gradients that need no oracle (robustness.md 2.4), and NaN that nothing sees.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "support/gradients.h"
#include "support/page_edge.h"
#include "support/random.h"
#include "support/targets.h"

namespace headlight::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

class BackwardLaws : public ::testing::TestWithParam<SimdTarget> {
 protected:
  Context ctx{{.threads = 2, .target = GetParam()}};

  Gradients run(const Instance& x, const BackwardInputs& in) {
    attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, in.out.view(), in.lse.view());
    Gradients found(x, x.c.dtype);
    attention_backward(ctx, in.saved(x), in.dout.view(), x.options, found.views());
    return found;
  }
};

// A random case with ordinary numbers, each head and token in memory of its own.
Case clean_case(std::uint64_t seed, DType dtype) {
  Case c = random_training_case(seed);
  c.dtype = dtype;
  c.data = Data::normal;
  for (Layout* layout : {&c.q_layout, &c.k_layout, &c.v_layout}) {
    if (*layout == Layout::shared_heads) *layout = Layout::dense;
  }
  return c;
}

// The weights of a row sum to one, so the values together get all of dout.
TEST_P(BackwardLaws, ValuesTogetherGetAllOfDout) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Case c = clean_case(500'000 + seed, seed % 3 == 0 ? DType::f64 : DType::f32);
    c.visible = Visibility::all(), c.mask = c.bias = Spread::none, c.sinks = false, c.dropout = {};
    c.ragged = Ragged::none, c.q_ends.clear(), c.k_ends.clear();
    c.q_len = std::max<Index>(1, c.q_len), c.k_len = std::max<Index>(1, c.k_len);
    const Instance x(c);
    const BackwardInputs in(x);
    const Gradients found = run(x, in);
    const double u = c.dtype == DType::f64 ? 0x1p-53 : 0x1p-24;
    const Index group = c.q_heads / c.kv_heads;
    for (Index b = 0; b < c.batch; ++b)
      for (Index kv = 0; kv < c.kv_heads; ++kv)
        for (Index d = 0; d < c.value_dim; ++d) {
          double got = 0, given = 0, size = 0;
          for (Index j = 0; j < c.k_len; ++j) got += found.dv.view().at(b, kv, j, d);
          for (Index h = kv * group; h < (kv + 1) * group; ++h)
            for (Index i = 0; i < c.q_len; ++i) {
              given += in.dout.view().at(b, h, i, d);
              size += std::abs(in.dout.view().at(b, h, i, d));
            }
          const double hard =
              40 + std::sqrt(static_cast<double>(c.dim)) * (c.scale ? 16 : 4) + 300 * (c.alibi ? 1 : 0);
          ASSERT_NEAR(got, given, 16 * u * hard * size) << describe(c);
        }
  }
}

// Adding a constant to all scores of a row changes nothing: the gradients of its scores sum to zero.
TEST_P(BackwardLaws, ScoresOfARowHaveNoCommonGradient) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Case c = clean_case(510'000 + seed, seed % 3 == 0 ? DType::f64 : DType::f32);
    c.bias = Spread::all, c.sinks = false;
    const Instance x(c);
    const BackwardInputs in(x);
    const Gradients found = run(x, in);
    const double u = c.dtype == DType::f64 ? 0x1p-53 : 0x1p-24;
    const TensorView ds = found.dbias.view();
    for (Index b = 0; b < ds.dim(0); ++b)
      for (Index h = 0; h < ds.dim(1); ++h)
        for (Index i = 0; i < ds.dim(2); ++i) {
          double sum = 0, size = 0;
          for (Index j = 0; j < ds.dim(3); ++j) {
            sum += ds.at(b, h, i, j);
            size += std::abs(ds.at(b, h, i, j));
          }
          const double reach = 16 * std::sqrt(static_cast<double>(c.value_dim)) / (1 - c.dropout.rate);
          ASSERT_NEAR(sum, 0, 2000 * u * (size + reach)) << b << " " << h << " " << i << " " << describe(c);
        }
  }
}

TEST_P(BackwardLaws, DropoutOfZeroIsNone) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Case c = random_training_case(520'000 + seed);
    c.dropout = {};
    const Instance plain(c);
    const BackwardInputs a(plain);
    c.dropout = {.rate = 0, .seed = seed, .layer = 5};
    const Instance zero(c);
    const BackwardInputs b(zero);
    ASSERT_TRUE(run(plain, a).same_bits(run(zero, b))) << describe(c);
    ASSERT_EQ(a.out.bits(), b.out.bits()) << describe(c);
  }
}

// Query heads that share a key head: the same as giving each its own copy and adding up their gradients.
TEST_P(BackwardLaws, GroupedHeadsAreRepeatedHeads) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Case c = clean_case(530'000 + seed, seed % 3 == 0 ? DType::f64 : DType::f32);
    c.kv_heads = 1 + static_cast<Index>(seed % 2),
    c.q_heads = c.kv_heads * (2 + static_cast<Index>(seed % 3));
    c.dropout = {};
    const Instance x(c);
    const BackwardInputs in(x);
    const Gradients found = run(x, in);
    const Index group = c.q_heads / c.kv_heads;
    const auto repeated = [&](const ConstTensorView& from) {
      Tensor to({from.dim(0), c.q_heads, from.dim(2), from.dim(3)}, from.dtype());
      for (Index b = 0; b < from.dim(0); ++b)
        for (Index h = 0; h < c.q_heads; ++h)
          for (Index t = 0; t < from.dim(2); ++t)
            for (Index d = 0; d < from.dim(3); ++d) to.view().set(b, h, t, d, from.at(b, h / group, t, d));
      return to;
    };
    const Tensor k = repeated(x.k.view()), v = repeated(x.v.view());
    Tensor dq(x.q.view().shape(), c.dtype), dk(k.shape(), c.dtype), dv(v.shape(), c.dtype);
    attention_backward(ctx, {x.q.view(), k, v, in.out.view(), in.lse.view()}, in.dout.view(), x.options,
                       {dq, dk, dv});
    ASSERT_EQ(found.dq.bits(), bits_of(dq.view())) << describe(c);
    const double u = c.dtype == DType::f64 ? 0x1p-53 : 0x1p-24;
    const auto check = [&](const char* name, const TensorView& shared, const Tensor& own) {
      for (Index b = 0; b < shared.dim(0); ++b)
        for (Index kv = 0; kv < c.kv_heads; ++kv)
          for (Index t = 0; t < shared.dim(2); ++t)
            for (Index d = 0; d < shared.dim(3); ++d) {
              double sum = 0, size = 0;
              for (Index h = kv * group; h < (kv + 1) * group; ++h) {
                sum += own.at(b, h, t, d);
                size += std::abs(own.at(b, h, t, d));
              }
              // Each of the sums has as many terms as there are queries, which may cancel.
              const double many =
                  static_cast<double>(c.q_len) * std::sqrt(static_cast<double>(c.dim + c.value_dim)) * 16;
              ASSERT_NEAR(shared.at(b, kv, t, d), sum, 16 * u * (size + many)) << name << " " << describe(c);
            }
    };
    check("dk", found.dk.view(), dk);
    check("dv", found.dv.view(), dv);
  }
}

// One key only: all weight is on it whatever the scores are.
TEST_P(BackwardLaws, OneKeyGetsAllOfDoutAndMovesNoScore) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Case c{.seed = 3, .q_heads = 1, .q_len = 5, .k_len = 1, .dim = 24, .value_dim = 8, .dtype = dtype};
    const Instance x(c);
    const BackwardInputs in(x);
    const Gradients found = run(x, in);
    const double u = dtype == DType::f64 ? 0x1p-53 : 0x1p-24;
    for (const double g : values_of(found.dq.view())) EXPECT_NEAR(g, 0, 200 * u);
    for (const double g : values_of(found.dk.view())) EXPECT_NEAR(g, 0, 500 * u);
  }
}

// What one gradient is asked for does not change another.
TEST_P(BackwardLaws, EachGradientAloneHasTheSameBits) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Instance x(random_training_case(540'000 + seed));
    const BackwardInputs in(x);
    const Gradients all = run(x, in);
    const AttentionGrads views = all.views();
    for (int n = 0; n < 5; ++n) {
      const Gradients one(x, x.c.dtype);
      const AttentionGrads from = one.views();
      AttentionGrads asked;
      TensorRef AttentionGrads::*places[] = {&AttentionGrads::dq, &AttentionGrads::dk, &AttentionGrads::dv,
                                             &AttentionGrads::dbias, &AttentionGrads::dsinks};
      asked.*places[n] = from.*places[n];
      attention_backward(ctx, in.saved(x), in.dout.view(), x.options, asked);
      ASSERT_EQ(bits_of(views.*places[n]), bits_of(from.*places[n])) << n << " " << describe(x.c);
    }
  }
}

// Poison goes where some rows do not look; their gradients, and those of the keys that only they see, keep
// their bits, and whatever was poisoned and not seen has a gradient of 0.
TEST_P(BackwardLaws, HiddenKeysAndValuesAreNeverTouched) {
  Random random(5);
  int hidden_keys = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    constexpr DType kDtypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16};
    Case c = clean_case(550'000 + seed, kDtypes[seed % 4]);
    if (seed % 2 == 0) c.mask = Spread::keys;
    if (c.k_len == 0 || c.q_len == 0) continue;
    const Instance x(c);
    const BackwardInputs in(x);
    const Gradients before = run(x, in);
    const Problem p = check_call("test", x.q.view(), x.k.view(), x.v.view(), x.options);
    std::vector<std::uint8_t> seen(static_cast<std::size_t>(c.batch * c.kv_heads * c.k_len));
    for (Index n = 0; n < p.sequences; ++n) {
      const Sequence s = p.sequence(n);
      for (Index h = 0; h < p.q_heads; ++h)
        for (Index i = 0; i < s.q_len; ++i)
          for (const Index j : keys_of(p, s, h, i)) {
            seen[static_cast<std::size_t>((s.batch * c.kv_heads + h / p.group) * c.k_len + s.k_start + j)] =
                1;
          }
    }
    for (Index b = 0; b < c.batch; ++b)
      for (Index h = 0; h < c.kv_heads; ++h)
        for (Index t = 0; t < c.k_len; ++t) {
          if (seen[static_cast<std::size_t>((b * c.kv_heads + h) * c.k_len + t)] != 0) continue;
          ++hidden_keys;
          const double poison[3] = {std::nan(""), kInf, -kInf};
          for (Index d = 0; d < c.dim; ++d) {
            ASSERT_EQ(before.dk.view().at(b, h, t, d), 0) << describe(c);
            x.k.view().set(b, h, t, d, poison[random.below(3)]);
          }
          for (Index d = 0; d < c.value_dim; ++d) {
            ASSERT_EQ(before.dv.view().at(b, h, t, d), 0) << describe(c);
            x.v.view().set(b, h, t, d, poison[random.below(3)]);
          }
        }
    ASSERT_TRUE(before.same_bits(run(x, in))) << describe(c);
  }
  EXPECT_GT(hidden_keys, 100);
}

// Tensors at the edge of a page that cannot be touched: no byte outside them is read or written.
TEST_P(BackwardLaws, NothingOutsideATensorIsTouched) {
  for (std::uint64_t n = 0; n < 150; ++n) {
    constexpr DType kDtypes[] = {DType::f32, DType::f64, DType::bf16, DType::f16};
    const Instance x(clean_case(530'000 + n, kDtypes[n % 4]));
    const BackwardInputs in(x);
    const Gradients expected = run(x, in);
    for (const bool at_end : {true, false}) {
      const AtPageEdge q(x.q.view(), at_end), k(x.k.view(), at_end), v(x.v.view(), at_end),
          out(in.out.view(), at_end), lse(in.lse.view(), at_end), dout(in.dout.view(), at_end);
      const AtPageEdge dq(x.q.view(), at_end), dk(x.k.view(), at_end), dv(x.v.view(), at_end);
      const OptionsAtPageEdge there(x.options, at_end);
      AttentionGrads grads{dq.view, dk.view, dv.view};
      std::unique_ptr<AtPageEdge> dbias, dsinks;
      if (!x.options.bias.empty()) {
        dbias = std::make_unique<AtPageEdge>(expected.dbias.view(), at_end);
        grads.dbias = dbias->view;
      }
      if (!x.options.sinks.empty()) {
        dsinks = std::make_unique<AtPageEdge>(expected.dsinks.view(), at_end);
        grads.dsinks = dsinks->view;
      }
      attention_backward(ctx, {q.view, k.view, v.view, out.view, lse.view}, dout.view, there.options, grads);
      ASSERT_EQ(bits_of(dq.view), expected.dq.bits()) << describe(x.c);
      ASSERT_EQ(bits_of(dk.view), expected.dk.bits()) << describe(x.c);
      ASSERT_EQ(bits_of(dv.view), expected.dv.bits()) << describe(x.c);
    }
  }
}

// NaN in one query, or in dout of one row, is seen by that row and by the keys it looks at: nobody else.
TEST_P(BackwardLaws, ARowOfNanReachesWhatItSees) {
  Random random(6);
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    constexpr DType kDtypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16};
    Case c = clean_case(560'000 + seed, kDtypes[seed % 4]);
    c.bias = Spread::none, c.sinks = false;
    if (c.dropout.rate != 0) c.dropout = {};
    if (c.k_len == 0 || c.q_len == 0) continue;
    const Instance x(c);
    const BackwardInputs in(x);
    const Gradients before = run(x, in);
    const Problem p = check_call("test", x.q.view(), x.k.view(), x.v.view(), x.options);
    const Sequence s = p.sequence(random.below(p.sequences));
    if (s.q_len == 0) continue;
    const Index h = random.below(c.q_heads), i = random.below(s.q_len);
    const std::vector<Index> keys = keys_of(p, s, h, i);
    if (seed % 2 == 0) {
      x.q.view().set(s.batch, h, s.q_start + i, random.below(c.dim), std::nan(""));
    } else {
      in.dout.view().set(s.batch, h, s.q_start + i, random.below(c.value_dim), std::nan(""));
    }
    const Gradients after = run(x, in);
    std::vector<bool> hit(static_cast<std::size_t>(c.k_len));
    for (const Index j : keys) hit[static_cast<std::size_t>(s.k_start + j)] = true;
    const auto same = [](double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; };
    for (Index b = 0; b < c.batch; ++b)
      for (Index head = 0; head < c.q_heads; ++head)
        for (Index t = 0; t < c.q_len; ++t)
          for (Index d = 0; d < c.dim; ++d) {
            const double now = after.dq.view().at(b, head, t, d);
            if (b == s.batch && head == h && t == s.q_start + i && !keys.empty()) {
              // A row of one key, or a scale of 0, has nothing to move; NaN shows all the same.
              ASSERT_TRUE(std::isnan(now)) << describe(c);
            } else {
              ASSERT_TRUE(same(now, before.dq.view().at(b, head, t, d)))
                  << "dq of row " << t << " " << describe(c);
            }
          }
    for (Index b = 0; b < c.batch; ++b)
      for (Index head = 0; head < c.kv_heads; ++head)
        for (Index t = 0; t < c.k_len; ++t) {
          const bool touched = b == s.batch && head == h / p.group && hit[static_cast<std::size_t>(t)];
          for (Index d = 0; d < c.dim; ++d) {
            const double now = after.dk.view().at(b, head, t, d);
            ASSERT_TRUE(touched ? std::isnan(now) : same(now, before.dk.view().at(b, head, t, d)))
                << "dk of key " << t << " " << describe(c);
          }
          bool any = false;
          for (Index d = 0; d < c.value_dim; ++d) {
            const double now = after.dv.view().at(b, head, t, d);
            any |= std::isnan(now);
            if (!touched) {
              ASSERT_TRUE(same(now, before.dv.view().at(b, head, t, d))) << "dv of key " << t << describe(c);
            }
          }
          ASSERT_EQ(any, touched) << "dv of key " << t << " " << describe(c);
        }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, BackwardLaws, ::testing::ValuesIn(supported_targets()), target_name);

}  // namespace
}  // namespace headlight::testing
