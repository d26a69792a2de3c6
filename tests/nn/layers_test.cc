// Linear, embeddings, norms, activations, feed-forward, loss: gradients, plain formulas and refusals.
#include <cmath>

#include "nn/gradients.h"
#include "support/errors.h"

namespace headlight::nn {

void PrintTo(const NormConfig& config, std::ostream* out) {
  *out << (config.kind == NormKind::layer ? "layer" : "rms");
}

namespace {

using headlight::testing::expect_error;

Context& context() {
  static Context ctx({.threads = 2});
  return ctx;
}

TEST(Linear, GradientsInBothLayouts) {
  for (const WeightLayout layout : {WeightLayout::out_in, WeightLayout::in_out})
    for (const bool bias : {true, false}) {
      Linear linear("linear", {5, 3, bias, layout}, DType::f64);
      Parameters list;
      linear.collect(list);
      EXPECT_EQ(list.size(), bias ? 2U : 1U);
      fill(list, 1);
      Tensor x = random_tensor({7, 5}, 2);
      const Tensor dy = random_tensor({7, 3}, 3);
      const Tensor dx = linear.backward(context(), x, dy);
      expect_gradients(list, {{"x", x, dx}}, [&] { return dot(dy, linear.forward(context(), x)); });
    }
}

TEST(Linear, GradientsAreAdded) {
  Linear linear("linear", {4, 4}, DType::f64);
  const Tensor x = random_tensor({3, 4}, 1), dy = random_tensor({3, 4}, 2);
  (void)linear.backward(context(), x, dy);
  const Tensor once = linear.weight.grad.clone();
  (void)linear.backward(context(), x, dy);
  for (Index i = 0; i < 16; ++i)
    EXPECT_DOUBLE_EQ(linear.weight.grad.as<double>()[i], 2 * once.as<double>()[i]);
}

TEST(Linear, RefusesOtherShapes) {
  const Linear linear("decoder.0.up", {4, 3});
  const Tensor wide({2, 5}), doubles({2, 4}, DType::f64);
  expect_error([&] { (void)linear.forward(context(), wide); }, ErrorKind::usage, "nn.shape",
               "decoder.0.up.weight: x is f32 [2, 5]; need f32 [tokens, 4]");
  expect_error([&] { (void)linear.forward(context(), doubles); }, ErrorKind::usage, "nn.shape",
               "x is f64 [2, 4]");
  expect_error([] { Linear("l", {0, 3}); }, ErrorKind::usage, "nn.config", "from 0 to 3");
}

TEST(Embedding, GathersAndAddsBack) {
  Embedding table("table", 6, 3, DType::f64);
  Parameters list;
  table.collect(list);
  fill(list, 5);
  const std::vector<std::int32_t> ids = {2, 5, 2, 0, 2};
  const Tensor dy = random_tensor({5, 3}, 6);
  Tensor y({5, 3}, DType::f64);
  table.backward(context(), ids, dy, 1.5);
  expect_gradients(list, {}, [&] {
    table.forward(context(), ids, y, 1.5);
    return dot(dy, y);
  });
  const Tensor before = table.weight.grad.clone();
  table.backward(context(), ids, dy, 1.5, 2);  // row 2 learns nothing
  for (Index d = 0; d < 3; ++d) {
    EXPECT_EQ(table.weight.grad.at(2, d), before.at(2, d));
    EXPECT_DOUBLE_EQ(table.weight.grad.at(5, d), 2 * before.at(5, d));
  }
}

TEST(Embedding, RefusesNumbersOutsideOfTheTable) {
  const Embedding table("wte", 6, 3);
  Tensor y({2, 3});
  expect_error(
      [&] {
        table.forward(context(), std::vector<std::int32_t>{1, 6}, y);
      },
      ErrorKind::input, "nn.token", "wte.weight: token 1 is number 6; the table has 6 rows");
  expect_error(
      [&] {
        table.forward(context(), std::vector<std::int32_t>{-1, 1}, y);
      },
      ErrorKind::input, "nn.token", "token 0 is number -1");
}

class Norms : public ::testing::TestWithParam<NormConfig> {};

TEST_P(Norms, FormulaAndGradients) {
  NormConfig config = GetParam();
  config.width = 5;
  Norm norm("norm", config, DType::f64);
  Parameters list;
  norm.collect(list);
  fill(list, 7);
  Tensor x = random_tensor({4, 5}, 8);
  const Tensor dy = random_tensor({4, 5}, 9);
  Norm::Saved saved;
  const Tensor y = norm.forward(context(), x, &saved);
  for (Index r = 0; r < 4; ++r) {
    double mean = 0, square = 0;
    for (Index i = 0; i < 5; ++i) mean += config.kind == NormKind::layer ? x.at(r, i) / 5 : 0;
    for (Index i = 0; i < 5; ++i) square += (x.at(r, i) - mean) * (x.at(r, i) - mean) / 5;
    for (Index i = 0; i < 5; ++i) {
      const double w = norm.weight.value.at(i) + (config.weight_plus_one ? 1 : 0);
      const double b = norm.bias.value.empty() ? 0 : norm.bias.value.at(i);
      EXPECT_NEAR(y.at(r, i), (x.at(r, i) - mean) / std::sqrt(square + config.eps) * w + b, 1e-12);
    }
  }
  const Tensor dx = norm.backward(context(), x, saved, dy);
  expect_gradients(list, {{"x", x, dx}}, [&] { return dot(dy, norm.forward(context(), x)); });
}

INSTANTIATE_TEST_SUITE_P(All, Norms,
                         ::testing::Values(NormConfig{}, NormConfig{.bias = false},
                                           NormConfig{.kind = NormKind::rms, .eps = 1e-6},
                                           NormConfig{.kind = NormKind::rms, .weight_plus_one = true}));

TEST(Norm, OfASumAndOfHeads) {
  Norm norm("norm", {.width = 6}, DType::f64);
  const Tensor x = random_tensor({3, 6}, 1), add = random_tensor({3, 6}, 2);
  Tensor sum({3, 6}, DType::f64);
  const Tensor y = norm.forward_sum(context(), x, add, sum);
  const Tensor whole = norm.forward(context(), sum);
  for (Index r = 0; r < 3; ++r)
    for (Index i = 0; i < 6; ++i) {
      EXPECT_EQ(sum.at(r, i), x.at(r, i) + add.at(r, i));
      EXPECT_EQ(y.at(r, i), whole.at(r, i));
    }
  // Two heads of six out of rows of fifteen.
  const Tensor wide = random_tensor({3, 15}, 3);
  const ConstTensorView heads(wide.as<double>() + 1, DType::f64, {3, 2, 6}, {15, 7, 1});
  const Tensor by_head = norm.forward(context(), heads);
  for (Index t = 0; t < 3; ++t)
    for (Index h = 0; h < 2; ++h) {
      const ConstTensorView row(wide.as<double>() + t * 15 + 1 + h * 7, Shape{1, 6});
      const Tensor alone = norm.forward(context(), row);
      for (Index i = 0; i < 6; ++i) EXPECT_EQ(by_head.at(t, h, i), alone.at(0, i));
    }
}

TEST(Activations, GradientsOfAll) {
  for (const Activation activation :
       {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu, Activation::tanh,
        Activation::sigmoid, Activation::relu_squared}) {
    Parameter bias{"bias", Tensor({5}, DType::f64)};
    Tensor x = random_tensor({6, 5}, 11, 2);
    const Tensor dy = random_tensor({6, 5}, 12);
    Tensor y({6, 5}, DType::f64), dx({6, 5}, DType::f64);
    activate_backward(context(), activation, x, dy, dx, &bias);
    const auto loss = [&] {
      activate(context(), activation, x, y);
      return dot(dy, y);
    };
    SCOPED_TRACE(name_of(activation));
    expect_gradients({}, {{"x", x, dx}}, loss);
    for (Index i = 0; i < 5; ++i) {
      double sum = 0;
      for (Index r = 0; r < 6; ++r) sum += dx.at(r, i);
      EXPECT_NEAR(bias.grad.at(i), sum, 1e-12);
    }
  }
}

// Two halves, or columns that take turns; some numbers are beyond the limit.
TEST(FeedForward, GradientsOfGatesWithALimit) {
  for (const bool pairs : {false, true}) {
    FeedForwardConfig config{.width = 4, .inner = 6, .gated = true, .gate_packed = pairs};
    config.gate_pairs = pairs;
    config.gate_limit = 0.7;
    FeedForward layer("ff", config, DType::f64);
    Parameters list;
    layer.collect(list);
    fill(list, 13);
    Tensor x = random_tensor({5, 4}, 14);
    const Tensor dy = random_tensor({5, 4}, 15);
    FeedForward::Saved saved;
    (void)layer.forward(context(), x, &saved);
    const Tensor dx = layer.backward(context(), x, saved, dy);
    expect_gradients(list, {{"x", x, dx}}, [&] { return dot(dy, layer.forward(context(), x)); });
  }
  EXPECT_THROW(
      FeedForward("ff", {.width = 4, .inner = 6, .activation = Activation::relu_squared, .gated = true}),
      Error);
}

TEST(FeedForward, GradientsOfAllForms) {
  for (const bool gated : {false, true})
    for (const bool packed : {false, true})
      for (const bool bias : {false, true}) {
        FeedForward layer("ff", {4, 6, Activation::silu, gated, packed, bias}, DType::f64);
        Parameters list;
        layer.collect(list);
        fill(list, 13);
        Tensor x = random_tensor({3, 4}, 14);
        const Tensor dy = random_tensor({3, 4}, 15);
        FeedForward::Saved saved;
        (void)layer.forward(context(), x, &saved);
        const Tensor dx = layer.backward(context(), x, saved, dy);
        expect_gradients(list, {{"x", x, dx}}, [&] { return dot(dy, layer.forward(context(), x)); });
      }
}

TEST(Dropout, DropsTheShareAndReplays) {
  Tensor x({64, 100}), y({64, 100}), again({64, 100});
  for (Index i = 0; i < 6400; ++i) x.as<float>()[i] = 1;
  const Dropout dropout{0.25, 9, 3};
  drop(context(), dropout, x, y);
  Context one({.threads = 1});
  drop(one, dropout, x, again);
  Index dropped = 0;
  for (Index i = 0; i < 6400; ++i) {
    EXPECT_TRUE(y.as<float>()[i] == 0 || y.as<float>()[i] == static_cast<float>(1 / 0.75));
    EXPECT_EQ(y.as<float>()[i], again.as<float>()[i]);
    dropped += y.as<float>()[i] == 0 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(dropped) / 6400, 0.25, 0.02);
  expect_error([&] { drop(context(), {1.0, 1, 1}, x, y); }, ErrorKind::usage, "nn.dropout", "a rate of 1");
}

TEST(CrossEntropy, GradientsWithSmoothingCapAndIgnoredRows) {
  const std::vector<std::int32_t> targets = {3, -100, 0, 6};
  for (const double smoothing : {0.0, 0.2})
    for (const double cap : {0.0, 2.0}) {
      Tensor logits = random_tensor({4, 7}, 16, 2);
      const CrossEntropyOptions options{.scale = 0.5, .label_smoothing = smoothing, .softcap = cap};
      Tensor grad = logits.clone();
      const CrossEntropy loss = cross_entropy(context(), grad, targets, options);
      EXPECT_EQ(loss.targets, 3);
      expect_gradients({}, {{"logits", logits, grad}}, [&] {
        Tensor copy = logits.clone();
        CrossEntropyOptions plain = options;
        plain.gradient = false;
        return 0.5 * cross_entropy(context(), copy, targets, plain).sum;
      });
      for (Index v = 0; v < 7; ++v) EXPECT_EQ(grad.at(1, v), 0);
    }
}

TEST(CrossEntropy, CountsAndRefuses) {
  Tensor logits = Tensor::from(std::vector<double>{0, 1, 0, 2, 0, 0}, {2, 3}, DType::f64);
  const CrossEntropy loss =
      cross_entropy(context(), logits, std::vector<std::int32_t>{1, 1}, {.gradient = false});
  EXPECT_EQ(loss.correct, 1);
  const double first = std::log(2 + std::exp(1.0)) - 1, second = std::log(2 + std::exp(2.0));
  EXPECT_NEAR(loss.sum, first + second, 1e-14);
  EXPECT_EQ(loss.sum, loss.plain);
  expect_error(
      [&] {
        (void)cross_entropy(context(), logits, std::vector<std::int32_t>{1, 3});
      },
      ErrorKind::input, "nn.target", "target 1 is 3; need a class below 3");
}

}  // namespace
}  // namespace headlight::nn
