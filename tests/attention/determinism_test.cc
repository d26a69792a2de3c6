// The same bits for any thread count, batch, placement and padding (robustness.md D1–D4; clause 9 of the
// attention contract). HEADLIGHT_CASES raises the number of shapes for a nightly run.
#include <gtest/gtest.h>

#include <memory>

#include "support/arrangements.h"
#include "support/sanitizers.h"
#include "support/targets.h"

namespace headlight::testing {
namespace {

class Determinism : public ::testing::TestWithParam<SimdTarget> {
 protected:
  Context ctx{{.threads = 1, .target = GetParam()}};
};

// Shapes that random cases rarely reach: one query on many keys, and more keys than a segment.
std::vector<Case> long_cases() {
  std::vector<Case> list;
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    Case c{.seed = 5, .q_heads = 2, .q_len = 1, .k_len = 5000, .dim = 64, .value_dim = 64, .dtype = dtype};
    list.push_back(c);
    c.q_len = 130, c.k_len = 2100, c.dim = c.value_dim = 24, c.visible = Visibility::causal();
    list.push_back(c);
    Case many = c;  // whole units first, then blocks of the last ones
    many.batch = 3, many.q_heads = many.kv_heads = 4, many.k_len = 300;
    list.push_back(many);
    c.visible = Visibility::window(1500), c.sinks = true, c.kv_heads = 2, c.q_heads = 4, c.q_len = 7;
    list.push_back(c);
  }
  return list;
}

std::vector<Case> all_cases(std::uint64_t first) {
  std::vector<Case> list = long_cases();
  for (std::uint64_t s = 0; s < shapes(200); ++s) list.push_back(random_case(first + s));
  return list;
}

Results run(Context& ctx, const Instance& x, bool statistics) {
  Results found(x, x.c.dtype, statistics);
  attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, found.views());
  return found;
}

// Bits of one item, head or row range of an answer.
std::vector<std::uint8_t> part(Tensor& x, int axis, Index begin, Index n) {
  return bits_of(sliced(x.view(), axis, begin, n));
}

TEST_P(Determinism, AnyNumberOfThreads) {
  std::vector<std::unique_ptr<Context>> many;
  for (const int threads : {2, 3, 5, 8, 16, 64}) {
    many.push_back(std::make_unique<Context>(ContextOptions{.threads = threads, .target = GetParam()}));
  }
  for (const Case& c : all_cases(10'000)) {
    const Instance x(c);
    const Results one = run(ctx, x, c.statistics);
    for (const auto& other : many) {
      ASSERT_TRUE(one.same_bits(run(*other, x, c.statistics)))
          << other->threads() << " threads " << describe(c);
    }
  }
}

TEST_P(Determinism, AgainAndAgain) {
  Context two({.threads = 2, .target = GetParam()});
  for (const Case& c : long_cases()) {
    const Instance x(c);
    const Results first = run(two, x, true);
    for (int n = 0; n < repeats(20); ++n) ASSERT_TRUE(first.same_bits(run(two, x, true))) << describe(c);
  }
}

TEST_P(Determinism, StatisticsChangeNothingElse) {
  for (const Case& c : all_cases(20'000)) {
    const Instance x(c);
    ASSERT_TRUE(run(ctx, x, false).same_bits(run(ctx, x, true))) << describe(c);
  }
}

// Each output asked for alone has the bits it has among all others.
TEST_P(Determinism, OutputsDoNotKnowEachOther) {
  using Member = TensorRef AttentionOutputs::*;
  constexpr Member kMembers[] = {&AttentionOutputs::lse,         &AttentionOutputs::max,
                                 &AttentionOutputs::entropy,     &AttentionOutputs::sink_weight,
                                 &AttentionOutputs::weights,     &AttentionOutputs::topk_index,
                                 &AttentionOutputs::topk_weight, &AttentionOutputs::received};
  for (std::uint64_t n = 0; n < shapes(200) / 2; ++n) {
    Case c = random_case(25'000 + n);
    if (n % 4 == 0) c.data = Data::nan_visible;
    const Instance x(c);
    const Results all = run(ctx, x, true);
    for (std::size_t m = 0; m < std::size(kMembers); ++m) {
      const Member member = kMembers[m];
      Results found(x, c.dtype, true);
      AttentionOutputs wanted{.out = found.out.view()};
      wanted.*member = found.views().*member;
      attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, wanted);
      ASSERT_EQ(bits_of(all.views().*member), bits_of(wanted.*member))
          << "output " << m << " " << describe(c);
      ASSERT_EQ(all.out.bits(), found.out.bits()) << describe(c);
    }
  }
}

TEST_P(Determinism, AnItemDoesNotKnowItsBatch) {
  for (const Case& c : all_cases(30'000)) {
    if (c.ragged == Ragged::packed) continue;
    const Instance x(c);
    const Call whole = call_of(x);
    Answer all = answer(ctx, whole);
    for (Index b = 0; b < c.batch; ++b) {
      Answer one = answer(ctx, batch_item(whole, b));
      ASSERT_EQ(part(all.out, 0, b, 1), bits_of(one.out.view())) << "item " << b << " " << describe(c);
      ASSERT_EQ(part(all.lse, 0, b, 1), bits_of(one.lse.view())) << "item " << b << " " << describe(c);
    }
  }
}

TEST_P(Determinism, AHeadDoesNotKnowTheOthers) {
  for (const Case& c : all_cases(40'000)) {
    const Instance x(c);
    const Call whole = call_of(x);
    Answer all = answer(ctx, whole);
    const Index group = c.q_heads / c.kv_heads;
    for (Index g = 0; g < c.kv_heads; ++g) {
      Answer one = answer(ctx, head_group(whole, g));
      ASSERT_EQ(part(all.out, 1, g * group, group), bits_of(one.out.view()))
          << "group " << g << " " << describe(c);
    }
  }
}

// Chunked prefill: a chunk of queries alone, at its place, has the bits of the whole.
TEST_P(Determinism, QueriesInChunks) {
  Random random(1);
  for (const Case& c : all_cases(50'000)) {
    if (c.ragged != Ragged::none || c.q_len == 0) continue;
    const Instance x(c);
    const Call whole = call_of(x);
    Answer all = answer(ctx, whole);
    for (int n = 0; n < 3; ++n) {
      const Index begin = random.below(c.q_len), count = n == 0 ? 1 : 1 + random.below(c.q_len - begin);
      Answer some = answer(ctx, some_queries(whole, begin, count));
      ASSERT_EQ(part(all.out, 2, begin, count), bits_of(some.out.view()))
          << begin << "+" << count << " " << describe(c);
      ASSERT_EQ(part(all.lse, 2, begin, count), bits_of(some.lse.view()))
          << begin << "+" << count << " " << describe(c);
    }
  }
}

// Cached decoding: the newest query over the keys so far has the bits of its row in the full forward.
TEST_P(Determinism, DecodingStepByStep) {
  Random random(2);
  for (Case c : all_cases(60'000)) {
    if (c.ragged != Ragged::none || c.q_len == 0) continue;
    c.k_len = std::min<Index>(c.q_len, 300), c.q_len = c.k_len;
    c.visible = Visibility::causal();
    c.mask = c.bias = Spread::none;
    if (c.data == Data::all_minus_inf || c.data == Data::mixed_inf) c.data = Data::normal;
    const Instance x(c);
    const Call whole = call_of(x);
    Answer all = answer(ctx, whole);
    for (int n = 0; n < 4; ++n) {
      const Index i = random.below(c.q_len);
      Call step{sliced(whole.q, 2, i, 1), sliced(whole.k, 2, 0, i + 1), sliced(whole.v, 2, 0, i + 1),
                whole.options};
      Answer now = answer(ctx, step);
      ASSERT_EQ(part(all.out, 2, i, 1), bits_of(now.out.view())) << "step " << i << " " << describe(c);
      ASSERT_EQ(part(all.lse, 2, i, 1), bits_of(now.lse.view())) << "step " << i << " " << describe(c);
    }
  }
}

// The same where keys fill more than one segment, and the full forward has many more than the step.
TEST_P(Determinism, DecodingAcrossSegments) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16}) {
    const Case c{.seed = 8,
                 .q_heads = 2,
                 .q_len = 64,
                 .k_len = 2100,
                 .dim = 16,
                 .value_dim = 16,
                 .dtype = dtype,
                 .visible = {.right = 0, .offset = 1000}};
    const Instance x(c);
    const Call whole = call_of(x);
    Answer all = answer(ctx, whole);
    for (Index i = 0; i < c.q_len; ++i) {
      const Index keys = 1000 + i + 1;
      Call step{sliced(whole.q, 2, i, 1), sliced(whole.k, 2, 0, keys), sliced(whole.v, 2, 0, keys),
                whole.options};
      step.options.visible.offset.reset();
      Answer now = answer(ctx, step);
      ASSERT_EQ(part(all.out, 2, i, 1), bits_of(now.out.view())) << "step " << i << " " << describe(c);
      ASSERT_EQ(part(all.lse, 2, i, 1), bits_of(now.lse.view())) << "step " << i << " " << describe(c);
    }
  }
}

TEST_P(Determinism, AnyPlaceInMemory) {
  Random random(3);
  for (const Case& any : all_cases(70'000)) {
    const Case c = dense(any);
    const Results first = run(ctx, Instance(c), false);
    for (int n = 0; n < 3; ++n) {
      const Case other = moved(c, random);
      ASSERT_TRUE(first.same_bits(run(ctx, Instance(other), false))) << describe(other);
    }
  }
}

// Three sequences of unequal length: alone, padded with lengths, padded with a mask, and packed.
TEST_P(Determinism, PaddingLengthsMaskAndPackingAgree) {
  Random random(4);
  for (std::uint64_t n = 0; n < shapes(200) / 4; ++n) {
    const Instance x(three_lengths(random_case(80'000 + n), random));
    const Case& c = x.c;
    const Call padded = call_of(x);
    Answer with_lengths = answer(ctx, padded);
    const Packed packed(x);
    Answer ragged = answer(ctx, packed.call());
    for (Index b = 0; b < 3; ++b) {
      const auto at = static_cast<std::size_t>(b);
      const Index rows = c.q_ends[at];
      const auto expected = bits_of(sliced(sliced(with_lengths.out.view(), 0, b, 1), 2, 0, rows));
      ASSERT_EQ(expected, bits_of(sliced(ragged.out.view(), 2, packed.q_start(b), rows)))
          << "packed " << b << " " << describe(c);
      const Alone alone(padded, b, rows, c.k_ends[at]);
      ASSERT_EQ(expected, bits_of(answer(ctx, alone.exact()).out)) << "alone " << b << " " << describe(c);
      ASSERT_EQ(expected, bits_of(answer(ctx, alone.masked()).out)) << "masked " << b << " " << describe(c);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Determinism, ::testing::ValuesIn(supported_targets()), target_name);

}  // namespace
}  // namespace headlight::testing
