// The same bits of every gradient for any thread count, batch, placement and padding (robustness.md D1–D4),
// and the same dropout. HEADLIGHT_CASES raises the number of shapes for a nightly run.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "core/random.h"
#include "support/arrangements.h"
#include "support/gradients.h"
#include "support/sanitizers.h"
#include "support/targets.h"

namespace headlight::testing {
namespace {

class BackwardDeterminism : public ::testing::TestWithParam<SimdTarget> {
 protected:
  Context ctx{{.threads = 1, .target = GetParam()}};
};

// Shapes that random cases rarely reach: one head of many tokens, which several threads share.
std::vector<Case> long_cases() {
  std::vector<Case> list;
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    Case c{.seed = 5, .q_len = 700, .k_len = 700, .dim = 24, .value_dim = 24, .dtype = dtype};
    c.visible = Visibility::causal();
    list.push_back(c);
    c.dropout = {.rate = 0.2, .seed = 4};
    list.push_back(c);
    c.q_len = 130, c.k_len = 1500, c.visible = Visibility::window(900), c.sinks = true, c.q_heads = 2;
    c.bias = Spread::queries_keys;
    list.push_back(c);
    c.q_len = 3, c.k_len = 5000, c.visible = Visibility::all(), c.bias = Spread::keys;
    list.push_back(c);
  }
  return list;
}

std::vector<Case> all_cases(std::uint64_t first) {
  std::vector<Case> list = long_cases();
  for (std::uint64_t s = 0; s < shapes(120); ++s) list.push_back(random_training_case(first + s));
  return list;
}

// A case with its forward pass done.
struct Done {
  Instance x;
  BackwardInputs in;

  Done(Context& ctx, const Case& c) : x(c), in(x) {
    attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, in.out.view(), in.lse.view());
  }
  [[nodiscard]] Gradients backward(Context& ctx) const {
    Gradients found(x, x.c.dtype);
    attention_backward(ctx, in.saved(x), in.dout.view(), x.options, found.views());
    return found;
  }
};

// dq, dk, dv of a call, dense, from its own forward pass.
struct Step {
  Tensor out, lse, dq, dk, dv;
};
Step step(Context& ctx, const Call& c, const ConstTensorView& dout) {
  Answer a = answer(ctx, c);
  Step s{std::move(a.out), std::move(a.lse), Tensor(c.q.shape(), c.q.dtype()),
         Tensor(c.k.shape(), c.k.dtype()), Tensor(c.v.shape(), c.v.dtype())};
  attention_backward(ctx, {c.q, c.k, c.v, s.out, s.lse}, dout, c.options, {s.dq, s.dk, s.dv});
  return s;
}

TEST_P(BackwardDeterminism, AnyNumberOfThreads) {
  std::vector<std::unique_ptr<Context>> many;
  for (const int threads : {2, 3, 7}) {
    many.push_back(std::make_unique<Context>(ContextOptions{.threads = threads, .target = GetParam()}));
  }
  for (const Case& c : all_cases(610'000)) {
    const Done done(ctx, c);
    const Gradients one = done.backward(ctx);
    for (const auto& other : many) {
      ASSERT_TRUE(one.same_bits(done.backward(*other))) << other->threads() << " threads " << describe(c);
      const Done again(*other, c);
      ASSERT_EQ(done.in.out.bits(), again.in.out.bits()) << other->threads() << " threads " << describe(c);
    }
  }
}

TEST_P(BackwardDeterminism, AgainAndAgain) {
  Context three({.threads = 3, .target = GetParam()});
  for (Case c : long_cases()) {
    c.q_len = std::min<Index>(c.q_len, 200), c.k_len = std::min<Index>(c.k_len, 400);
    const Done done(three, c);
    const Gradients first = done.backward(three);
    const int times = repeats(c.dtype == DType::f32 ? 100 : 20);
    for (int n = 0; n < times; ++n) ASSERT_TRUE(first.same_bits(done.backward(three))) << describe(c);
  }
}

// D1: a thousand times the whole step, in shapes that three threads share in every way they can.
TEST_P(BackwardDeterminism, AThousandTimes) {
  Context three({.threads = 3, .target = GetParam()});
  for (const Index q_len : {150, 4}) {
    Case c{.seed = 6, .q_heads = 2, .q_len = q_len, .k_len = 300, .dim = 16, .value_dim = 16};
    c.visible = Visibility::causal();
    c.dropout = {.rate = 0.1, .seed = 2};
    const Done first(three, c);
    const Gradients gradients = first.backward(three);
    for (int n = 0; n < repeats(500); ++n) {
      const Done again(three, c);
      ASSERT_EQ(first.in.out.bits(), again.in.out.bits()) << describe(c);
      ASSERT_EQ(first.in.lse.bits(), again.in.lse.bits()) << describe(c);
      ASSERT_TRUE(gradients.same_bits(again.backward(three))) << describe(c);
    }
  }
}

TEST_P(BackwardDeterminism, AnItemDoesNotKnowItsBatch) {
  for (Case c : all_cases(620'000)) {
    if (c.ragged == Ragged::packed || c.batch == 1) continue;
    c.dropout = {};  // asks which item it is
    const Instance x(c);
    const BackwardInputs in(x);
    const Call whole = call_of(x);
    Step all = step(ctx, whole, in.dout.view());
    for (Index b = 0; b < c.batch; ++b) {
      Step one = step(ctx, batch_item(whole, b), sliced(in.dout.view(), 0, b, 1));
      ASSERT_EQ(bits_of(sliced(all.dq.view(), 0, b, 1)), bits_of(one.dq.view()))
          << "item " << b << " " << describe(c);
      ASSERT_EQ(bits_of(sliced(all.dk.view(), 0, b, 1)), bits_of(one.dk.view()))
          << "item " << b << " " << describe(c);
      ASSERT_EQ(bits_of(sliced(all.dv.view(), 0, b, 1)), bits_of(one.dv.view()))
          << "item " << b << " " << describe(c);
    }
  }
}

TEST_P(BackwardDeterminism, AHeadGroupDoesNotKnowTheOthers) {
  for (Case c : all_cases(630'000)) {
    if (c.kv_heads == 1) continue;
    c.dropout = {};  // asks which head it is
    const Instance x(c);
    const BackwardInputs in(x);
    const Call whole = call_of(x);
    Step all = step(ctx, whole, in.dout.view());
    const Index group = c.q_heads / c.kv_heads;
    for (Index g = 0; g < c.kv_heads; ++g) {
      Step one = step(ctx, head_group(whole, g), sliced(in.dout.view(), 1, g * group, group));
      ASSERT_EQ(bits_of(sliced(all.dq.view(), 1, g * group, group)), bits_of(one.dq.view()))
          << g << " " << describe(c);
      ASSERT_EQ(bits_of(sliced(all.dk.view(), 1, g, 1)), bits_of(one.dk.view())) << g << " " << describe(c);
      ASSERT_EQ(bits_of(sliced(all.dv.view(), 1, g, 1)), bits_of(one.dv.view())) << g << " " << describe(c);
    }
  }
}

TEST_P(BackwardDeterminism, AnyPlaceInMemory) {
  Random random(3);
  for (const Case& any : all_cases(640'000)) {
    const Case c = dense(any);
    const Gradients first = Done(ctx, c).backward(ctx);
    for (int n = 0; n < 2; ++n) {
      const Case other = moved(c, random);
      ASSERT_TRUE(first.same_bits(Done(ctx, other).backward(ctx))) << describe(other);
    }
  }
}

// Three sequences of unequal length: padded with lengths, packed, padded with a mask, and alone. Dropout goes
// by the place in the sequence, so packing does not change it.
TEST_P(BackwardDeterminism, PaddingLengthsMaskAndPackingAgree) {
  Random random(4);
  for (std::uint64_t n = 0; n < shapes(120) / 2; ++n) {
    const Instance x(three_lengths(random_training_case(650'000 + n), random));
    const Case& c = x.c;
    const BackwardInputs in(x);
    const Call padded = call_of(x);
    Step lengths = step(ctx, padded, in.dout.view());
    const Packed ragged(x);
    Step packed = step(ctx, ragged.call(), ragged.queries(in.dout.view()));

    for (Index b = 0; b < 3; ++b) {
      const auto at = static_cast<std::size_t>(b);
      const Index rows = c.q_ends[at], keys = c.k_ends[at];
      const auto real = [&](Tensor& whole, Index tokens) {
        return bits_of(sliced(sliced(whole.view(), 0, b, 1), 2, 0, tokens));
      };
      const auto dq = real(lengths.dq, rows), dk = real(lengths.dk, keys), dv = real(lengths.dv, keys);
      ASSERT_EQ(dq, bits_of(sliced(packed.dq.view(), 2, ragged.q_start(b), rows)))
          << "packed " << b << " " << describe(c);
      ASSERT_EQ(dk, bits_of(sliced(packed.dk.view(), 2, ragged.k_start(b), keys)))
          << "packed " << b << " " << describe(c);
      ASSERT_EQ(dv, bits_of(sliced(packed.dv.view(), 2, ragged.k_start(b), keys)))
          << "packed " << b << " " << describe(c);
      for (const double g : values_of(sliced(sliced(lengths.dk.view(), 0, b, 1), 2, keys, c.k_len - keys))) {
        ASSERT_EQ(g, 0) << "padding " << b << " " << describe(c);
      }

      if (c.dropout.rate != 0 && b != 0) continue;  // alone, every sequence is number 0
      const Alone alone(padded, b, rows, keys);
      const TensorView own = sliced(sliced(in.dout.view(), 0, b, 1), 2, 0, rows);
      Step shape = step(ctx, alone.exact(), own);
      ASSERT_EQ(dq, bits_of(shape.dq.view())) << "alone " << b << " " << describe(c);
      ASSERT_EQ(dk, bits_of(shape.dk.view())) << "alone " << b << " " << describe(c);
      ASSERT_EQ(dv, bits_of(shape.dv.view())) << "alone " << b << " " << describe(c);

      Step masked = step(ctx, alone.masked(), own);
      ASSERT_EQ(dq, bits_of(masked.dq.view())) << "masked " << b << " " << describe(c);
      ASSERT_EQ(dk, bits_of(sliced(masked.dk.view(), 2, 0, keys))) << "masked " << b << " " << describe(c);
      ASSERT_EQ(dv, bits_of(sliced(masked.dv.view(), 2, 0, keys))) << "masked " << b << " " << describe(c);
    }
  }
}

// With the identity as values the output is the weights after dropout: what is zero there was dropped.
TEST_P(BackwardDeterminism, TheDroppedWeightsAreThoseOfTheGenerator) {
  std::vector<std::unique_ptr<Context>> contexts;
  for (const int threads : {1, 3}) {
    contexts.push_back(std::make_unique<Context>(ContextOptions{.threads = threads, .target = GetParam()}));
  }
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const double rate : {0.1, 0.5, 0.95}) {
      const Index batch = 2, heads = 3, rows = 70, keys = 150, dim = 4;
      Random random(9);
      Tensor q({batch, heads, rows, dim}, dtype), k({batch, heads, keys, dim}, dtype),
          v({batch, heads, keys, keys}, dtype);
      for (Index b = 0; b < batch; ++b)
        for (Index h = 0; h < heads; ++h) {
          for (Index d = 0; d < dim; ++d) {
            for (Index i = 0; i < rows; ++i) q.view().set(b, h, i, d, random.normal());
            for (Index j = 0; j < keys; ++j) k.view().set(b, h, j, d, random.normal());
          }
          for (Index j = 0; j < keys; ++j) v.view().set(b, h, j, j, 1);
        }
      const AttentionOptions options{.visible = Visibility::causal(),
                                     .dropout = {.rate = rate, .seed = 77, .layer = 2}};
      const DropoutKey key = DropoutKey::of(rate, 77, 2);
      Tensor out({batch, heads, rows, keys}, dtype), lse({batch, heads, rows}, dtype),
          plain({batch, heads, rows, keys}, dtype);
      attention_forward(ctx, q, k, v, {.visible = Visibility::causal()}, plain);
      for (const auto& other : contexts) {
        attention_forward(*other, q, k, v, options, out, lse);
        Index dropped = 0, all = 0;
        for (Index b = 0; b < batch; ++b)
          for (Index h = 0; h < heads; ++h)
            for (Index i = 0; i < rows; ++i)
              for (Index j = 0; j <= i + keys - rows; ++j) {
                const bool keeps = key.keeps(b, h, i, j);
                dropped += keeps ? 0 : 1, ++all;
                const double weight = plain.at(b, h, i, j) / (1 - rate);
                ASSERT_NEAR(out.at(b, h, i, j), keeps ? weight : 0, keeps ? 1e-5 * weight : 0)
                    << b << " " << h << " " << i << " " << j;
              }
        const double share = static_cast<double>(dropped) / static_cast<double>(all);
        EXPECT_NEAR(share, rate, 5 * std::sqrt(rate * (1 - rate) / static_cast<double>(all)));
      }

      // dv_j is Σ_i p·kept·dout_i: the same weights again on the way back.
      Tensor dout({batch, heads, rows, keys}, dtype), dq(q.shape(), dtype), dk(k.shape(), dtype),
          dv(v.shape(), dtype);
      for (Index b = 0; b < batch; ++b)
        for (Index h = 0; h < heads; ++h)
          for (Index i = 0; i < rows; ++i) dout.view().set(b, h, i, i, 1);
      attention_backward(*contexts[1], {q, k, v, out, lse}, dout, options, {dq, dk, dv});
      for (Index b = 0; b < batch; ++b)
        for (Index h = 0; h < heads; ++h)
          for (Index i = 0; i < rows; ++i)
            for (Index j = 0; j < keys; ++j) {
              ASSERT_NEAR(dv.at(b, h, j, i), out.at(b, h, i, j), 1e-5 * out.at(b, h, i, j)) << i << " " << j;
            }
    }
  }
}

TEST_P(BackwardDeterminism, SeedAndLayerChangeWhatIsDropped) {
  Case c{.seed = 1, .q_len = 40, .k_len = 40, .dim = 8, .value_dim = 8};
  c.dropout = {.rate = 0.5, .seed = 1, .layer = 0};
  const auto out_of = [&](const Dropout& dropout) {
    Case made = c;
    made.dropout = dropout;
    return Done(ctx, made).in.out.bits();
  };
  const auto first = out_of({0.5, 1, 0});
  EXPECT_EQ(first, out_of({0.5, 1, 0}));
  EXPECT_NE(first, out_of({0.5, 2, 0}));
  EXPECT_NE(first, out_of({0.5, 1, 1}));
  EXPECT_NE(first, out_of({0.5, 1ULL << 32, 0}));
}

INSTANTIATE_TEST_SUITE_P(Targets, BackwardDeterminism, ::testing::ValuesIn(supported_targets()), target_name);

}  // namespace
}  // namespace headlight::testing
