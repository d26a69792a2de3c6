// Positions against their formulas, with numbers worked out elsewhere.
#include "headlight/positions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "nn/gradients.h"
#include "support/errors.h"

namespace headlight::nn {
namespace {

using headlight::testing::expect_error;

void expect_close(const std::vector<double>& found, const std::vector<double>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-12 * wanted[i]) << i;
}

TEST(Sinusoids, BothOrders) {
  const Tensor turns = sinusoidal_positions(4, 6, SinusoidOrder::alternating, DType::f64);
  const Tensor halves = sinusoidal_positions(4, 6, SinusoidOrder::halves, DType::f64);
  for (Index p = 0; p < 4; ++p)
    for (Index j = 0; j < 3; ++j) {
      const double angle = static_cast<double>(p) * std::pow(10000.0, -static_cast<double>(j) / 3);
      EXPECT_NEAR(turns.at(p, 2 * j), std::sin(angle), 1e-15);
      EXPECT_NEAR(turns.at(p, 2 * j + 1), std::cos(angle), 1e-15);
      EXPECT_NEAR(halves.at(p, j), std::sin(angle), 1e-15);
      EXPECT_NEAR(halves.at(p, 3 + j), std::cos(angle), 1e-15);
    }
}

TEST(Rope, Frequencies) {
  using Kind = RopeScaling::Kind;
  expect_close(rope_frequencies({}, 8, 10), {1, 0.1, 0.01, 0.001});
  expect_close(rope_frequencies({.scaling = {.kind = Kind::linear, .factor = 4}}, 8, 10),
               {0.25, 0.025, 0.0025, 0.00025});
  const RopeConfig dynamic{.scaling = {.kind = Kind::dynamic, .factor = 4, .original_positions = 32}};
  expect_close(rope_frequencies(dynamic, 8, 32), {1, 0.1, 0.01, 0.001});
  expect_close(rope_frequencies(dynamic, 8, 100),
               {1.0, 0.047216319570868345, 0.002229380833818365, 0.00010526315789473686});
  RopeConfig yarn{.scaling = {.kind = Kind::yarn, .factor = 4, .original_positions = 64}};
  expect_close(rope_frequencies(yarn, 16, 10), {1.0, 0.23717082451262847, 0.05, 0.007905694150420948, 0.0025,
                                                0.0007905694150420948, 0.00025, 7.905694150420948e-05});
  EXPECT_NEAR(rope_attention_factor(yarn), 1.138629436111989, 1e-14);
  yarn.scaling.truncate = false;
  expect_close(rope_frequencies(yarn, 16, 10),
               {1.0, 0.19858352015369318, 0.02559524589192421, 0.007905694150420948, 0.0025,
                0.0007905694150420948, 0.00025, 7.905694150420948e-05});
  const RopeConfig llama3{.theta = 500000,
                          .scaling = {.kind = Kind::llama3, .factor = 8, .original_positions = 32}};
  expect_close(rope_frequencies(llama3, 8, 10),
               {1.0, 0.004700753866357992, 0.00017677669529663688, 6.647869871181235e-06});
}

TEST(Rope, FactorsOfPairs) {
  RopeConfig config;
  config.factors = {1, 2, 4, 8};
  expect_close(rope_frequencies(config, 8, 10), {1, 0.05, 0.0025, 0.000125});
  expect_error([&] { (void)RopeTable(config, 6, 0, 1, DType::f32); }, ErrorKind::usage, "nn.rope",
               "4 factors for 3 pairs; need one for each");
}

TEST(Rope, TurnsPairsAndBack) {
  Context ctx({.threads = 2});
  for (const bool interleaved : {false, true}) {
    const RopeConfig config{.dims = 4, .interleaved = interleaved};
    const RopeTable table(config, 6, 2, 9, DType::f64);
    Tensor x({3, 2, 6}, DType::f64);
    headlight::testing::fill(x.view(), 1);
    const Tensor before = x.clone();
    const std::vector<Index> positions = {2, 8, 5};
    table.rotate(ctx, x, positions);
    for (Index t = 0; t < 3; ++t)
      for (Index h = 0; h < 2; ++h) {
        for (Index j = 0; j < 2; ++j) {
          const double angle = static_cast<double>(positions[static_cast<std::size_t>(t)]) *
                               std::pow(100.0, -static_cast<double>(j));
          const Index a = interleaved ? 2 * j : j, b = interleaved ? 2 * j + 1 : j + 2;
          const double u = before.at(t, h, a), v = before.at(t, h, b);
          EXPECT_NEAR(x.at(t, h, a), u * std::cos(angle) - v * std::sin(angle), 1e-14);
          EXPECT_NEAR(x.at(t, h, b), u * std::sin(angle) + v * std::cos(angle), 1e-14);
        }
        EXPECT_EQ(x.at(t, h, 4), before.at(t, h, 4));  // not rotated
        EXPECT_EQ(x.at(t, h, 5), before.at(t, h, 5));
      }
    table.rotate_back(ctx, x, positions);
    for (Index i = 0; i < 36; ++i) EXPECT_NEAR(x.as<double>()[i], before.as<double>()[i], 1e-14);
  }
  const RopeTable table({}, 4, 2, 9, DType::f64);
  Tensor x({1, 1, 4}, DType::f64);
  expect_error([&] { table.rotate(ctx, x, std::vector<Index>{9}); }, ErrorKind::usage, "nn.rope",
               "position 9 in a table for positions 2 to 8");
  expect_error([] { RopeTable({.dims = 3}, 4, 0, 1, DType::f32); }, ErrorKind::usage, "nn.rope",
               "3 of 4 dimensions");
}

TEST(Alibi, Slopes) {
  const Tensor eight = alibi_slopes(8, DType::f64);
  for (Index h = 0; h < 8; ++h) EXPECT_DOUBLE_EQ(eight.at(h), std::exp2(-static_cast<double>(h + 1)));
  // Six: the four of 4 heads, then the first and third of 8.
  const Tensor six = alibi_slopes(6, DType::f64);
  const double wanted[] = {0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125};
  for (Index h = 0; h < 6; ++h) EXPECT_DOUBLE_EQ(six.at(h), wanted[h]);
}

TEST(RelativeBias, Buckets) {
  const RelativeBias both("bias", {.heads = 1}, DType::f64);
  const Index keys[] = {-200, -100, -20, -9, -8, -7, -1, 0, 1, 7, 8, 9, 20, 100, 200};
  const Index wanted[] = {15, 15, 10, 8, 8, 7, 1, 0, 17, 23, 24, 24, 26, 31, 31};
  for (int i = 0; i < 15; ++i) EXPECT_EQ(both.bucket(1000, 1000 + keys[i]), wanted[i]) << keys[i];
  const RelativeBias one("bias", {.heads = 1, .bidirectional = false}, DType::f64);
  const Index earlier[] = {-200, -100, -20, -17, -16, -15, -1, 0, 1, 7, 200};
  const Index far[] = {31, 30, 17, 16, 16, 15, 1, 0, 0, 0, 0};
  for (int i = 0; i < 11; ++i) EXPECT_EQ(one.bucket(1000, 1000 + earlier[i]), far[i]) << earlier[i];
}

TEST(RelativeBias, Gradients) {
  RelativeBias bias("bias", {.buckets = 8, .max_distance = 16, .heads = 2}, DType::f64);
  headlight::testing::fill(bias.table.value.view(), 3);
  const Tensor weight = random_tensor({1, 2, 5, 7}, 4);
  bias.backward(2, weight);
  expect_gradients({&bias.table}, {}, [&] { return dot(weight, bias.forward(2, 5, 7)); });
  expect_error([] { RelativeBias("b", {.buckets = 2, .heads = 1}, DType::f32); }, ErrorKind::usage,
               "nn.config", "2 buckets");
}

TEST(Positions, CountInEachSequence) {
  EXPECT_EQ(positions_of(std::vector<Index>{0, 2, 2, 5}), (std::vector<Index>{0, 1, 0, 1, 2}));
  EXPECT_TRUE(positions_of({}).empty());
}

}  // namespace
}  // namespace headlight::nn
