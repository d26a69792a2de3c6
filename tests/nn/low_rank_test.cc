// Adapters beside linear layers: gradients, what is not trained, merging.
#include "nn/gradients.h"
#include "support/errors.h"

namespace headlight::nn {
namespace {

using headlight::testing::expect_error;

Context& context() {
  static Context ctx({.threads = 2});
  return ctx;
}

Linear adapted(WeightLayout layout, DType dtype = DType::f64) {
  Linear linear("decoder.0.up", {5, 3, true, layout}, dtype);
  linear.adapt(2, 1.5);
  Parameters list;
  linear.collect(list);
  EXPECT_EQ(list.size(), 4U);
  EXPECT_EQ(list[2]->name, "decoder.0.up.lora_A.weight");
  fill(list, 1);
  return linear;
}

TEST(LowRank, GradientsInBothLayouts) {
  for (const WeightLayout layout : {WeightLayout::out_in, WeightLayout::in_out}) {
    Linear linear = adapted(layout);
    Parameters list;
    linear.collect(list);
    Tensor x = random_tensor({7, 5}, 2);
    const Tensor dy = random_tensor({7, 3}, 3);
    const Tensor dx = linear.backward(context(), x, dy);
    expect_gradients(list, {{"x", x, dx}}, [&] { return dot(dy, linear.forward(context(), x)); });
  }
}

TEST(LowRank, WhatIsNotTrainedHasNoGradient) {
  Linear linear = adapted(WeightLayout::out_in);
  linear.weight.trained = linear.bias.trained = false;
  Tensor x = random_tensor({4, 5}, 2);
  const Tensor dy = random_tensor({4, 3}, 3);
  const Tensor dx = linear.backward(context(), x, dy);
  EXPECT_TRUE(linear.weight.grad.empty());
  EXPECT_TRUE(linear.bias.grad.empty());
  expect_gradients({&linear.adapter.a, &linear.adapter.b}, {{"x", x, dx}},
                   [&] { return dot(dy, linear.forward(context(), x)); });
}

TEST(LowRank, MergedIsTheSameFunction) {
  for (const WeightLayout layout : {WeightLayout::out_in, WeightLayout::in_out}) {
    Linear linear = adapted(layout);
    const Tensor x = random_tensor({4, 5}, 2);
    const Tensor before = linear.forward(context(), x);
    linear.merge_adapter(context());
    EXPECT_TRUE(linear.adapter.empty());
    const Tensor after = linear.forward(context(), x);
    for (Index i = 0; i < 12; ++i) EXPECT_NEAR(after.as<double>()[i], before.as<double>()[i], 1e-12);
  }
}

TEST(LowRank, MergedNumbersAreRoundedOnce) {
  for (const WeightLayout layout : {WeightLayout::out_in, WeightLayout::in_out}) {
    Linear linear = adapted(layout, DType::f32);
    const Tensor before = linear.weight.value.clone();
    const Tensor a = linear.adapter.a.value.clone(), b = linear.adapter.b.value.clone();
    const double scale = linear.adapter.scale;
    linear.merge_adapter(context());
    for (Index i = 0; i < 5; ++i)
      for (Index o = 0; o < 3; ++o) {
        const bool rows = layout == WeightLayout::out_in;
        double sum = rows ? before.at(o, i) : before.at(i, o);
        for (Index k = 0; k < a.dim(0); ++k)
          sum += rows ? b.at(o, k) * (scale * a.at(k, i)) : a.at(k, i) * (scale * b.at(o, k));
        EXPECT_EQ(rows ? linear.weight.value.at(o, i) : linear.weight.value.at(i, o),
                  static_cast<double>(static_cast<float>(sum)));
      }
  }
}

TEST(LowRank, StandsBesideStoredMatrices) {
  Linear own = adapted(WeightLayout::out_in, DType::f32);
  Linear stored("decoder.0.up", {5, 3, true, WeightLayout::out_in, Weights::stored});
  stored.weight.stored = StoredMatrix::from(own.weight.value, StoredType::f32);
  stored.bias.value = own.bias.value.clone();
  stored.adapt(2, 1.5);
  stored.adapter.a.value = own.adapter.a.value.clone();
  stored.adapter.b.value = own.adapter.b.value.clone();
  Tensor x({4, 5});
  fill(x.view(), 2);
  const Tensor expected = own.forward(context(), x), alone = stored.forward(context(), x);
  Tensor together({4, 3});
  const Linear::Target targets[] = {{stored, together.view()}};
  Linear::forward_all(context(), x, targets);
  for (Index i = 0; i < 12; ++i) {
    EXPECT_NEAR(alone.as<float>()[i], expected.as<float>()[i], 1e-6);
    EXPECT_NEAR(together.as<float>()[i], expected.as<float>()[i], 1e-6);
  }
  expect_error([&] { stored.merge_adapter(context()); }, ErrorKind::usage, "nn.adapter",
               "a stored matrix cannot be changed");
  expect_error([&] { stored.adapt(0, 1); }, ErrorKind::usage, "nn.config", "rank 0");
}

// Norms, embeddings and biases that an activation adds to follow the same rule.
TEST(Untrained, LayersKeepTheirNumbersAndGetNoGradients) {
  FeedForward feed("f", {.width = 4, .inner = 6}, DType::f64);
  LayerNorm norm("n", 4, 1e-5, DType::f64);
  Embedding table("t", 5, 4, DType::f64);
  Parameters list;
  feed.collect(list);
  norm.collect(list);
  table.collect(list);
  fill(list, 3);
  for (Parameter* parameter : list) parameter->trained = false;
  const Tensor x = random_tensor({3, 4}, 4), dy = random_tensor({3, 4}, 5);
  FeedForward::Saved saved;
  Norm::Saved statistics;
  (void)feed.forward(context(), x, &saved);
  (void)norm.forward(context(), x, &statistics);
  (void)feed.backward(context(), x, saved, dy);
  (void)norm.backward(context(), x, statistics, dy);
  table.backward(context(), std::vector<std::int32_t>{0, 2, 2}, dy);
  for (const Parameter* parameter : list) EXPECT_TRUE(parameter->grad.empty()) << parameter->name;
}

}  // namespace
}  // namespace headlight::nn
