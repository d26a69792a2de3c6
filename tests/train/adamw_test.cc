#include "train/adamw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "headlight/error.h"
#include "support/errors.h"
#include "support/random.h"

namespace headlight::train {
namespace {

struct Two {
  Parameter matrix{.name = "w", .value = Tensor({300, 500})};
  Parameter bias{.name = "b", .value = Tensor({3}), .grad = {}, .decays = false};
  Parameter fixed{.name = "p", .value = Tensor({2}), .grad = {}, .decays = true, .trained = false};
  Two() {
    testing::Random random(1);
    for (Index i = 0; i < 150000; ++i) matrix.value.as<float>()[i] = static_cast<float>(random.normal());
    for (Index i = 0; i < 3; ++i) bias.value.as<float>()[i] = 1;
  }
  Parameters all() { return {&matrix, &bias, &fixed}; }
  void fill(std::uint64_t seed) {
    testing::Random random(seed);
    for (Index i = 0; i < 150000; ++i) matrix.grad.as<float>()[i] = static_cast<float>(random.normal());
    for (Index i = 0; i < 3; ++i) bias.grad.as<float>()[i] = static_cast<float>(random.normal());
  }
};

TEST(AdamW, FirstStepsByHand) {
  Two two;
  Context ctx({.threads = 1});
  AdamW adam(two.all(), {.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0.1});
  ASSERT_EQ(adam.states().size(), 2U);
  const double w = two.matrix.value.at(0, 0);
  two.matrix.grad.as<float>()[0] = 2;
  two.bias.grad.as<float>()[1] = -0.5F;
  EXPECT_DOUBLE_EQ(adam.gradient_norm(ctx), std::sqrt(4.25));
  adam.step(ctx, 0.01, 0.5);
  // The first step moves by the learning rate whatever the gradient; decay is by the rate alone.
  EXPECT_NEAR(two.matrix.value.at(0, 0), w * (1 - 0.001) - 0.01, 1e-6);
  EXPECT_NEAR(two.bias.value.at(1), 1 + 0.01, 1e-6);
  EXPECT_EQ(two.bias.value.at(0), 1);
  EXPECT_EQ(two.matrix.grad.at(0, 0), 0);
  two.bias.grad.as<float>()[1] = -0.25F;
  adam.step(ctx, 0.01);
  EXPECT_NEAR(two.bias.value.at(1), 1.02, 1e-6);
  EXPECT_EQ(adam.steps(), 2);
  EXPECT_EQ(two.fixed.value.at(0), 0);
}

TEST(AdamW, SameBitsForAnyNumberOfThreads) {
  Two one, many;
  Context single({.threads = 1}), several({.threads = 3});
  AdamW first(one.all(), {.average = 0.9}), second(many.all(), {.average = 0.9});
  for (std::uint64_t step = 1; step <= 3; ++step) {
    one.fill(step);
    many.fill(step);
    EXPECT_EQ(first.gradient_norm(single), second.gradient_norm(several));
    first.step(single, 1e-3, 0.7);
    second.step(several, 1e-3, 0.7);
  }
  EXPECT_EQ(std::memcmp(one.matrix.value.as<float>(), many.matrix.value.as<float>(), 600000), 0);
  EXPECT_EQ(
      std::memcmp(first.states()[0].averaged.as<float>(), second.states()[0].averaged.as<float>(), 600000),
      0);
}

TEST(AdamW, AverageFollowsAndSwaps) {
  Two two;
  Context ctx({.threads = 1});
  AdamW adam(two.all(), {.average = 0.5});
  two.bias.grad.as<float>()[0] = 1;
  adam.step(ctx, 0.1);
  const double value = two.bias.value.at(0);
  const double average = adam.states()[1].averaged.at(0);
  EXPECT_NEAR(average, 2.0 / 11 * 1 + 9.0 / 11 * value, 1e-6);
  adam.swap_average();
  EXPECT_EQ(two.bias.value.at(0), average);
  adam.swap_average();
  EXPECT_EQ(two.bias.value.at(0), value);
}

TEST(AdamW, RefusesOtherTypes) {
  Parameter wide{.name = "wide", .value = Tensor({2}, DType::f64)};
  testing::expect_error([&] { AdamW({&wide}, {}); }, ErrorKind::usage, "train.dtype", "\"wide\" is f64");
}

}  // namespace
}  // namespace headlight::train
