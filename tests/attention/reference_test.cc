// The reference against numbers worked out by hand, pictures typed by hand, and laws. Everything else
// is tested against the reference, so nothing here may use its own arithmetic to find what is right.
#include "headlight/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/implementation.h"

namespace headlight::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

struct Answer {
  const Tensor q, k, v;
  AllOutputs o;
  Answer(Tensor q_, Tensor k_, Tensor v_, const AttentionOptions& options = {}, Index top = 3)
      : q(std::move(q_)), k(std::move(k_)), v(std::move(v_)), o(q, k, v, top) {
    reference::attention(q, k, v, options, o.views());
  }
};

Tensor column(const std::vector<double>& values) {
  return Tensor::from(values, {1, 1, static_cast<Index>(values.size()), 1}, DType::f64);
}

// Two queries, three keys. exp(score) is 1, 2, 5 for the first query and 1, 4, 25 for the second.
TEST(Reference, TwoQueriesThreeKeysByHand) {
  const std::vector<double> keys = {0, std::log(2), std::log(5)};
  const std::vector<double> values = {8, 0, 16, 4, 0, 8};
  const Answer a(column({1, 2}), column(keys), Tensor::from(values, {1, 1, 3, 2}, DType::f64),
                 {.scale = 1.0});
  const double weights[2][3] = {{1.0 / 8, 2.0 / 8, 5.0 / 8}, {1.0 / 30, 4.0 / 30, 25.0 / 30}};
  for (Index i = 0; i < 2; ++i)
    for (Index j = 0; j < 3; ++j) EXPECT_NEAR(a.o.weights.at(0, 0, i, j), weights[i][j], 1e-15);
  EXPECT_NEAR(a.o.out.at(0, 0, 0, 0), 5, 1e-14);          // (8 + 2·16 + 0) / 8
  EXPECT_NEAR(a.o.out.at(0, 0, 0, 1), 6, 1e-14);          // (0 + 2·4 + 5·8) / 8
  EXPECT_NEAR(a.o.out.at(0, 0, 1, 0), 72.0 / 30, 1e-14);  // (8 + 4·16 + 0) / 30
  EXPECT_NEAR(a.o.out.at(0, 0, 1, 1), 216.0 / 30, 1e-14);
  EXPECT_NEAR(a.o.lse.at(0, 0, 0), std::log(8), 1e-15);
  EXPECT_NEAR(a.o.lse.at(0, 0, 1), std::log(30), 1e-15);
  EXPECT_EQ(a.o.max.at(0, 0, 0), std::log(5));
  EXPECT_NEAR(a.o.entropy.at(0, 0, 0), std::log(8) - (2 * std::log(2) + 5 * std::log(5)) / 8, 1e-15);
  EXPECT_EQ(a.o.topk_index.at(0, 0, 0, 0), 2);
  EXPECT_EQ(a.o.topk_index.at(0, 0, 0, 1), 1);
  EXPECT_EQ(a.o.topk_index.at(0, 0, 0, 2), 0);
  EXPECT_NEAR(a.o.topk_weight.at(0, 0, 1, 0), 25.0 / 30, 1e-15);
  EXPECT_NEAR(a.o.received.at(0, 0, 2), 5.0 / 8 + 25.0 / 30, 1e-15);
}

TEST(Reference, ASinkIsOneMoreLogitWithoutValue) {
  const double sink[1] = {std::log(2)};  // beside 1, 2, 5: a denominator of 10
  const Answer a(column({1}), column({0, std::log(2), std::log(5)}), column({10, 20, 30}),
                 {.scale = 1.0, .sinks = ConstTensorView(sink, {1})});
  EXPECT_NEAR(a.o.out.at(0, 0, 0, 0), 1 + 4 + 15, 1e-13);
  EXPECT_NEAR(a.o.sink_weight.at(0, 0, 0), 0.2, 1e-15);
  EXPECT_NEAR(a.o.lse.at(0, 0, 0), std::log(10), 1e-15);
  EXPECT_EQ(a.o.max.at(0, 0, 0), std::log(5)) << "the sink does not count";
  const double entropy = -(0.1 * std::log(0.1) + 2 * 0.2 * std::log(0.2) + 0.5 * std::log(0.5));
  EXPECT_NEAR(a.o.entropy.at(0, 0, 0), entropy, 1e-14) << "the sink counts";
}

TEST(Reference, CapThenDistanceThenBias) {
  const double slope[1] = {0.5}, bias[3] = {1, -2, 3};
  const Answer a(column({2}), column({3, -4, 50}), column({1, 1, 1}),
                 {.scale = 0.5,
                  .softcap = 2,
                  .alibi_slopes = ConstTensorView(slope, {1}),
                  .bias = ConstTensorView(bias, {3})});
  // The one query stands at position 2, at the end of the keys.
  const double scores[3] = {2 * std::tanh(1.5) - 1 + 1, 2 * std::tanh(-2) - 0.5 - 2,
                            2 * std::tanh(25) - 0 + 3};
  for (Index j = 0; j < 3; ++j) {
    EXPECT_NEAR(std::log(a.o.weights.at(0, 0, 0, j)) + a.o.lse.at(0, 0, 0), scores[j], 1e-13);
  }
}

// '#' is a key that the query of the line may see.
using Picture = std::vector<std::string>;

Picture seen(const Visibility& visible, Index q_len, Index k_len) {
  std::vector<double> ones(static_cast<std::size_t>(std::max(q_len, k_len)), 1);
  const std::vector<double> queries(ones.begin(), ones.begin() + q_len),
      keys(ones.begin(), ones.begin() + k_len);
  const Answer a(column(queries), column(keys), column(keys), {.visible = visible});
  Picture picture;
  for (Index i = 0; i < q_len; ++i) {
    picture.emplace_back();
    for (Index j = 0; j < k_len; ++j) picture.back() += a.o.weights.at(0, 0, i, j) > 0 ? '#' : '.';
  }
  return picture;
}

TEST(Reference, MasksLookAsDrawn) {
  EXPECT_EQ(seen(Visibility::all(), 2, 3), (Picture{"###", "###"}));
  EXPECT_EQ(seen(Visibility::causal(), 4, 4), (Picture{"#...", "##..", "###.", "####"}));
  EXPECT_EQ(seen(Visibility::causal(), 2, 5), (Picture{"####.", "#####"}))
      << "aligned to the end of the keys";
  EXPECT_EQ(seen({.right = 0, .offset = 0}, 2, 5), (Picture{"#....", "##..."})) << "aligned to the start";
  EXPECT_EQ(seen(Visibility::causal(), 4, 2), (Picture{"..", "..", "#.", "##"}));
  EXPECT_EQ(seen({.right = 0, .offset = 3}, 3, 5), (Picture{"####.", "#####", "#####"}));
  EXPECT_EQ(seen({.right = 0, .offset = -2}, 4, 4), (Picture{"....", "....", "#...", "##.."}));
  EXPECT_EQ(seen(Visibility::window(1), 3, 3), (Picture{"#..", ".#.", "..#"}));
  EXPECT_EQ(seen(Visibility::window(2), 4, 4), (Picture{"#...", "##..", ".##.", "..##"}));
  EXPECT_EQ(seen(Visibility::window(9), 3, 3), seen(Visibility::causal(), 3, 3));
  EXPECT_EQ(seen(Visibility::window(2), 2, 4), (Picture{".##.", "..##"}));
  EXPECT_EQ(seen({.left = 1, .right = 1}, 4, 4), (Picture{"##..", "###.", ".###", "..##"}));
  EXPECT_EQ(seen({.left = 0}, 3, 3), (Picture{"###", ".##", "..#"}));
  EXPECT_EQ(seen({.left = 1, .right = 1, .offset = 0}, 3, 5), (Picture{"##...", "###..", ".###."}));
  EXPECT_EQ(seen({.left = 0, .right = 0, .offset = 7}, 2, 3), (Picture{"...", "..."}))
      << "beyond the last key";
  EXPECT_EQ(seen(Visibility::prefix_lm(0), 3, 3), seen(Visibility::causal(), 3, 3));
  EXPECT_EQ(seen(Visibility::prefix_lm(2), 4, 4), (Picture{"##..", "##..", "###.", "####"}));
  EXPECT_EQ(seen(Visibility::prefix_lm(9), 2, 3), (Picture{"###", "###"}));
  EXPECT_EQ(seen({.left = 1, .prefix = 3}, 4, 4), (Picture{"###.", "###.", ".##.", "..##"}));
  EXPECT_EQ(seen({.right = 1, .prefix = 3}, 4, 4), (Picture{"##..", "###.", "###.", "####"}));
  EXPECT_EQ(seen({.prefix = 2, .offset = 0}, 3, 5), (Picture{"##...", "##...", "###.."}));
  EXPECT_EQ(seen(Visibility::chunks(2), 5, 5), (Picture{"#....", "##...", "..#..", "..##.", "....#"}));
  EXPECT_EQ(seen(Visibility::chunks(3), 2, 5), (Picture{"...#.", "...##"}))
      << "chunks of positions, not of queries";
  EXPECT_EQ(seen({.left = 1, .right = 0, .chunk = 3}, 4, 4), (Picture{"#...", "##..", ".##.", "...#"}));
}

TEST(Reference, MaskLengthsAndWindowCompose) {
  const std::uint8_t mask[16] = {1, 1, 1, 1, /**/ 0, 1, 1, 1, /**/ 1, 0, 1, 1, /**/ 1, 1, 1, 1};
  const std::vector<double> ones(8, 1);
  const Index q_lengths[2] = {4, 2}, k_lengths[2] = {3, 4};
  const auto make = [&] { return Tensor::from(ones, {2, 1, 4, 1}, DType::f64); };
  const Answer a(make(), make(), make(),
                 {.visible = Visibility::causal(),
                  .mask = ConstTensorView(mask, DType::boolean, {4, 4}),
                  .q_lengths = q_lengths,
                  .k_lengths = k_lengths});
  const Picture pictures[2] = {
      {"....", "....", "#...", "###."},   // position 0 is row 1, and the mask hides key 0 from it
      {"###.", ".###", "....", "...."}};  // position 2 is row 0; rows 2 and 3 are padding
  for (Index b = 0; b < 2; ++b)
    for (Index i = 0; i < 4; ++i)
      for (Index j = 0; j < 4; ++j) {
        const char expected = pictures[b][static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
        EXPECT_EQ(a.o.weights.at(b, 0, i, j) > 0, expected == '#') << b << " " << i << " " << j;
      }
}

TEST(Reference, GroupsOfHeadsShareAKeyHead) {
  std::vector<double> q(6, 1), k = {1, 2, 3, 4, 5, 6}, v = {10, 20, 30, 40, 50, 60};
  const Answer a(Tensor::from(q, {1, 6, 1, 1}, DType::f64), Tensor::from(k, {1, 3, 2, 1}, DType::f64),
                 Tensor::from(v, {1, 3, 2, 1}, DType::f64), {.scale = 0.0});
  for (Index h = 0; h < 6; ++h)
    EXPECT_DOUBLE_EQ(a.o.out.at(0, h, 0, 0), 15 + 20 * static_cast<double>(h / 2));
}

TEST(Reference, RowsThatSeeNothing) {
  const double sink[1] = {1.5};
  const auto empty = [&](const AttentionOptions& options, double lse, double sink_weight) {
    const Answer a(column({1, 2}), column({1, 1}), column({3, 4}), options);
    for (Index i = 0; i < 2; ++i) {
      EXPECT_EQ(a.o.out.at(0, 0, i, 0), 0);
      EXPECT_EQ(a.o.lse.at(0, 0, i), lse);
      EXPECT_EQ(a.o.max.at(0, 0, i), -kInf);
      EXPECT_EQ(a.o.entropy.at(0, 0, i), 0);
      EXPECT_EQ(a.o.sink_weight.at(0, 0, i), sink_weight);
      for (Index n = 0; n < 3; ++n) {
        EXPECT_EQ(a.o.topk_index.at(0, 0, i, n), -1);
        EXPECT_EQ(a.o.topk_weight.at(0, 0, i, n), 0);
      }
      for (Index j = 0; j < 2; ++j) EXPECT_EQ(a.o.weights.at(0, 0, i, j), 0);
    }
    EXPECT_EQ(a.o.received.at(0, 0, 1), 0);
  };
  const std::uint8_t none[1] = {0};
  const double below[1] = {-kInf};
  const Index zero[1] = {0};
  const ConstTensorView mask(none, DType::boolean, {1}), bias(below, {1}), sinks(sink, {1});
  empty({.mask = mask}, -kInf, 0);
  empty({.bias = bias}, -kInf, 0);
  empty({.k_lengths = zero}, -kInf, 0);
  empty({.visible = {.right = 0, .offset = -9}}, -kInf, 0);
  empty({.mask = mask, .sinks = sinks}, 1.5, 1);
  empty({.sinks = sinks, .k_lengths = zero}, 1.5, 1);
  empty({.sinks = sinks, .q_lengths = zero}, -kInf, 0);  // padding is no query, whatever the sink
}

TEST(Reference, HiddenKeysAreNeverLookedAt) {
  const std::uint8_t mask[3] = {1, 0, 1};
  const AttentionOptions options{.mask = ConstTensorView(mask, DType::boolean, {3})};
  const Answer clean(column({1, 2}), column({1, 5, 3}), column({1, 2, 3}), options);
  const Answer dirty(column({1, 2}), column({1, kNan, 3}), column({1, kInf, 3}), options);
  for (Index i = 0; i < 2; ++i) {
    EXPECT_EQ(clean.o.out.at(0, 0, i, 0), dirty.o.out.at(0, 0, i, 0));
    EXPECT_EQ(clean.o.lse.at(0, 0, i), dirty.o.lse.at(0, 0, i));
  }
}

TEST(Reference, NonFiniteNumbersThatAreSeen) {
  const Answer key(column({1, 1}), column({1, kNan}), column({1, 2}), {.visible = Visibility::causal()});
  EXPECT_EQ(key.o.out.at(0, 0, 0, 0), 1) << "row 0 does not see key 1";
  for (const Tensor* t : {&key.o.lse, &key.o.max, &key.o.entropy}) EXPECT_TRUE(std::isnan(t->at(0, 0, 1)));
  EXPECT_TRUE(std::isnan(key.o.out.at(0, 0, 1, 0)));
  EXPECT_EQ(key.o.topk_index.at(0, 0, 1, 0), -1);
  EXPECT_TRUE(std::isnan(key.o.topk_weight.at(0, 0, 1, 0)));
  EXPECT_TRUE(std::isnan(key.o.received.at(0, 0, 0)));

  const Answer plus(column({1}), column({1, kInf}), column({1, 2}));
  EXPECT_TRUE(std::isnan(plus.o.out.at(0, 0, 0, 0))) << "+inf is no limit";
  const Answer minus(column({1}), column({1, -kInf}), column({1, kNan}));
  EXPECT_EQ(minus.o.out.at(0, 0, 0, 0), 1) << "-inf excludes, and the value behind it";

  // The weight of key 1 underflows; its value is seen all the same, in its own column.
  const std::vector<double> values = {1, 2, kNan, 3};
  const Answer value(column({1}), column({0, -1e4}), Tensor::from(values, {1, 1, 2, 2}, DType::f64),
                     {.scale = 1.0});
  EXPECT_TRUE(std::isnan(value.o.out.at(0, 0, 0, 0)));
  EXPECT_EQ(value.o.out.at(0, 0, 0, 1), 2);
  EXPECT_EQ(value.o.lse.at(0, 0, 0), 0);
}

TEST(Reference, EqualMatchesGoToTheEarlierKey) {
  const Answer a(column({1}), column({2, 7, 2, 7}), column({0, 0, 0, 0}), {}, 5);
  const double expected[5] = {1, 3, 0, 2, -1};
  for (Index n = 0; n < 5; ++n) EXPECT_EQ(a.o.topk_index.at(0, 0, 0, n), expected[n]);
  EXPECT_EQ(a.o.topk_weight.at(0, 0, 0, 4), 0);
}

TEST(Reference, PackedSequencesAreSeparateCalls) {
  const std::vector<double> q = {1, 2, 3}, k = {1, 2, 3, 4, 5}, v = {9, 8, 7, 6, 5};
  const Index q_starts[4] = {0, 1, 1, 3}, k_starts[4] = {0, 2, 2, 5};  // the middle one is empty
  const Tensor tq = column(q), tk = column(k), tv = column(v);
  Tensor out({1, 1, 3, 1}, DType::f64), lse({1, 1, 3}, DType::f64), weights({3, 1, 2, 3}, DType::f64),
      received({1, 1, 5}, DType::f64);
  const AttentionOptions options{.visible = Visibility::causal(), .q_starts = q_starts, .k_starts = k_starts};
  reference::attention(tq, tk, tv, options,
                       {.out = out, .lse = lse, .weights = weights, .received = received});
  const Answer first(column({1}), column({1, 2}), column({9, 8}), {.visible = Visibility::causal()});
  const Answer last(column({2, 3}), column({3, 4, 5}), column({7, 6, 5}), {.visible = Visibility::causal()});
  EXPECT_EQ(out.at(0, 0, 0, 0), first.o.out.at(0, 0, 0, 0));
  EXPECT_EQ(weights.at(0, 0, 0, 1), first.o.weights.at(0, 0, 0, 1));
  EXPECT_EQ(weights.at(0, 0, 1, 0), 0);
  EXPECT_EQ(weights.at(1, 0, 0, 0), 0);
  for (Index i = 0; i < 2; ++i) {
    EXPECT_EQ(out.at(0, 0, 1 + i, 0), last.o.out.at(0, 0, i, 0));
    EXPECT_EQ(lse.at(0, 0, 1 + i), last.o.lse.at(0, 0, i));
    for (Index j = 0; j < 3; ++j) EXPECT_EQ(weights.at(2, 0, i, j), last.o.weights.at(0, 0, i, j));
  }
  for (Index j = 0; j < 3; ++j) EXPECT_EQ(received.at(0, 0, 2 + j), last.o.received.at(0, 0, j));
}

TEST(Reference, ManyEqualKeysAverageTheirValues) {
  const Index n = 100'000;  // a plain sum of so many loses two digits
  std::vector<double> ones(static_cast<std::size_t>(n), 0.1);
  const Answer a(column({1}), column(ones), column(ones));
  EXPECT_NEAR(a.o.out.at(0, 0, 0, 0), 0.1, 1e-15);
  EXPECT_NEAR(a.o.lse.at(0, 0, 0), 0.1 + std::log(1e5), 4e-15);
  EXPECT_NEAR(a.o.entropy.at(0, 0, 0), std::log(1e5), 4e-15);
}

TEST(Reference, EmptyShapesWriteNothingOrZero) {
  const Answer no_keys(column({1, 2}), Tensor({1, 1, 0, 1}, DType::f64), Tensor({1, 1, 0, 1}, DType::f64));
  EXPECT_EQ(no_keys.o.out.at(0, 0, 1, 0), 0);
  EXPECT_EQ(no_keys.o.lse.at(0, 0, 1), -kInf);
  Tensor received = Tensor::from(std::vector<double>{5, 5}, {1, 1, 2}, DType::f64),
         out({1, 1, 0, 1}, DType::f64);
  const Tensor q({1, 1, 0, 1}, DType::f64), k = column({1, 2});
  reference::attention(q, k, k, {}, {.out = out, .received = received});
  EXPECT_EQ(received.at(0, 0, 1), 0);
}

TEST(Reference, SixteenBitInputsAreReadExactlyAndRoundedOnce) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const std::vector<double> values = {1, 3};  // their mean is exact in every dtype
    const Tensor q = Tensor::from(std::vector<double>{0.5}, {1, 1, 1, 1}, dtype);
    const Tensor k = Tensor::from(std::vector<double>{2, 2}, {1, 1, 2, 1}, dtype);
    const Tensor v = Tensor::from(values, {1, 1, 2, 1}, dtype);
    Tensor out({1, 1, 1, 1}, dtype), lse({1, 1, 1}, DType::f32);
    reference::attention(q, k, v, {}, {.out = out, .lse = lse});
    EXPECT_EQ(out.at(0, 0, 0, 0), 2);
    EXPECT_EQ(lse.at(0, 0, 0), static_cast<float>(1 + std::log(2)));
  }
}

}  // namespace
}  // namespace headlight::testing
