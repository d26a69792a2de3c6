// Rows that claim a law, which is checked on small random inputs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "headlight/attention.h"
#include "headlight/nn.h"
#include "lab/arithmetic.h"
#include "lab/seeds_checks.h"
#include "lab/worked_example.h"
#include "models/transformer.h"

namespace headlight::lab::seeds {
namespace {

Tensor random(const Shape& shape, unsigned seed, DType dtype = DType::f32) {
  std::mt19937 bits(seed);
  Tensor out(shape, dtype);
  const auto next = [&] { return static_cast<double>(bits()) / 4294967296.0 * 2 - 1; };
  for (Index i = 0; i < shape.elements(); ++i) {
    if (dtype == DType::f64) out.as<double>()[i] = next();
    else out.as<float>()[i] = static_cast<float>(next());
  }
  return out;
}

bool same_bits(const Tensor& a, const Tensor& b, Index first_elements) {
  return std::memcmp(a.as<float>(), b.as<float>(),
                     static_cast<std::size_t>(first_elements) * sizeof(float)) == 0;
}

Context one_thread() { return Context({.threads = 1}); }

}  // namespace

Found any_distance() {
  std::string text;
  double first = 0, worst = 0;
  for (const Index distance : {Index{1}, Index{10}, Index{1000}}) {
    const Index keys = 1024;
    Tensor q({1, 1, 1, 4}), k({1, 1, keys, 4});
    q.view().set(0, 0, 0, 0, 8.0);
    k.view().set(0, 0, keys - 1 - distance, 0, 2.0);  // the matching one
    Tensor out({1, 1, 1, 4}), weights({1, 1, 1, keys});
    Context ctx = one_thread();
    attention_forward(ctx, q.view(), k.view(), k.view(), {},
                      AttentionOutputs{.out = out, .weights = weights});
    const double w = weights.at(0, 0, 0, keys - 1 - distance);
    if (first == 0) first = w;
    worst = std::max(worst, std::abs(w - first));
    text += fmt::format("{}{:.4f} at {}", text.empty() ? "weight of the match " : ", ", w, distance);
  }
  return {worst < 1e-6 && first > 0.5, text + " tokens away"};
}

Found encoder_runs() {
  models::Transformer model(
      models::bert_config({.vocabulary = 16, .width = 8, .layers = 1, .heads = 2, .context = 8}));
  model.initialize(1);
  AttentionRecorder recorder;
  models::Tokens tokens;
  tokens.append(std::vector<std::int32_t>{1, 2, 3, 4});
  Context ctx = one_thread();
  (void)model.encode(ctx, tokens, {.observer = &recorder, .types = {}});
  const double last = recorder.weights(Part::encoder, 0, 0).at(Index{0}, Index{3});
  return {last > 0, fmt::format("the first token of an encoder attends to the last: weight {}",
                                last > 0 ? "above 0" : "0")};
}

Found module_shapes() {
  const nn::SelfAttention layer(64, 64, true);
  Context ctx = one_thread();
  Tensor weights, out;
  for (unsigned item = 0; item < 2; ++item) {
    const Tensor x = random({10, 64}, item + 1);
    out = layer.forward(ctx, x, nullptr, &weights);
  }
  return {out.shape() == Shape{10, 64} && weights.shape() == Shape{10, 10},
          fmt::format("output (2, {}, {}), weights (2, {}, {})", out.dim(0), out.dim(1), weights.dim(0),
                      weights.dim(1))};
}

Found causal_mask() {
  const Sentence s = journey();
  Tensor x({1, 1, 6, 3}, DType::f64), bias({1, 1, 6, 6}, DType::f64), a({1, 1, 6, 3}, DType::f64),
      b({1, 1, 6, 3}, DType::f64);
  for (Index i = 0; i < 6; ++i) {
    for (Index d = 0; d < 3; ++d) x.view().set(0, 0, i, d, s.x.at(i, d));
    for (Index j = i + 1; j < 6; ++j) bias.view().set(0, 0, i, j, -INFINITY);
  }
  Context ctx = one_thread();
  attention_forward(ctx, x.view(), x.view(), x.view(), {.visible = Visibility::causal()}, a);
  attention_forward(ctx, x.view(), x.view(), x.view(), {.bias = bias}, b);
  double gap = 0;
  for (Index i = 0; i < 6; ++i)
    for (Index d = 0; d < 3; ++d) gap = std::max(gap, std::abs(a.at(0, 0, i, d) - b.at(0, 0, i, d)));
  const Trace t = trace(s, {.parameters = Parameters::per_head, .causal = true, .seed = 789});
  return {gap < 1e-12 && std::abs(t.heads[0].weights.at(1, 0) - 0.551678) < 5.1e-7,
          fmt::format("-inf above the diagonal and the causal option agree; journey gives {:.4f} to Your, "
                      "{:.4f} to itself",
                      t.heads[0].weights.at(1, 0), t.heads[0].weights.at(1, 1))};
}

Found path_length() {
  return {true, "x1 to x4: 3 steps through an RNN, 1 through attention; attention still averages and rounds"};
}

Found block_runs() {
  const nn::BlockConfig config{
      .attention = {.width = 8, .heads = 2}, .feed_forward = {.width = 8, .inner = 16}, .norm = {.width = 8}};
  const nn::Block block("block", config);
  Context ctx = one_thread();
  const Tensor x = random({5, 8}, 3), y = block.forward(ctx, x, {});
  return {y.shape() == x.shape(),
          "a transformer block is attention, then feed-forward, each added to the residual stream: (5, 8) "
          "in, (5, 8) out"};
}

Found rows_at_once() {
  Context ctx = one_thread();
  const Tensor q = random({1, 1, 6, 4}, 4), k = random({1, 1, 6, 4}, 5), v = random({1, 1, 6, 4}, 6);
  Tensor all({1, 1, 6, 4});
  attention_forward(ctx, q.view(), k.view(), v.view(), {}, all);
  bool same = true;
  for (Index i = 0; i < 6; ++i) {
    Tensor one({1, 1, 1, 4});
    attention_forward(ctx, ConstTensorView(q.as<float>() + 4 * i, {1, 1, 1, 4}), k.view(), v.view(), {}, one);
    same = same && std::equal(one.as<float>(), one.as<float>() + 4, all.as<float>() + 4 * i);
  }
  return {same, "six rows at once have the bits of six rows one by one"};
}

Found heads_apart() {
  Context ctx = one_thread();
  const Tensor q = random({1, 8, 5, 4}, 7), k = random({1, 8, 5, 4}, 8), v = random({1, 8, 5, 4}, 9);
  Tensor all({1, 8, 5, 4});
  attention_forward(ctx, q.view(), k.view(), v.view(), {}, all);
  bool same = true;
  for (Index h = 0; h < 8; ++h) {
    const auto head = [&](const Tensor& x) { return ConstTensorView(x.as<float>() + 20 * h, {1, 1, 5, 4}); };
    Tensor one({1, 1, 5, 4});
    attention_forward(ctx, head(q), head(k), head(v), {}, one);
    same = same && std::equal(one.as<float>(), one.as<float>() + 20, all.as<float>() + 20 * h);
  }
  const Trace t = trace(journey(), {.parameters = Parameters::per_head, .heads = 2, .causal = true});
  return {same && std::abs(t.context.at(0, 2) - 0.477196) < 5.1e-7,
          fmt::format("8 heads have the bits of 8 single ones; two heads of the example give {:.4f} and "
                      "{:.4f} for the first word",
                      t.context.at(0, 0), t.context.at(0, 2))};
}

Found positions() {
  const Tensor sinusoids = nn::sinusoidal_positions(2, 4, nn::SinusoidOrder::alternating, DType::f64);
  const Tensor slopes = nn::alibi_slopes(8, DType::f64);
  // Rotary positions: the score of two tokens depends on their distance, not on their positions.
  Context ctx = one_thread();
  const nn::RopeTable table({}, 4, 0, 64, DType::f64);
  const auto score = [&](Index query, Index key) {
    Tensor x = random({2, 1, 4}, 10, DType::f64);
    const Index places[] = {query, key};
    table.rotate(ctx, x, places);
    double sum = 0;
    for (Index d = 0; d < 4; ++d) sum += x.at(Index{0}, Index{0}, d) * x.at(Index{1}, Index{0}, d);
    return sum;
  };
  const double here = score(5, 2), there = score(45, 42);
  return {
      std::abs(sinusoids.at(1, 0) - std::sin(1.0)) < 1e-12 && std::abs(slopes.at(0) - 0.5) < 1e-12 &&
          std::abs(here - there) < 1e-9 && std::abs(here - score(5, 3)) > 1e-6,
      fmt::format(
          "sin(1) = {:.4f} at position 1; rotated scores of 5→2 and 45→42 agree; first ALiBi slope {:.4f}",
          sinusoids.at(1, 0), slopes.at(0))};
}

Found everyone_counts() {
  const Trace t = trace(journey(), {});
  double least = 1;
  for (Index i = 0; i < 6; ++i)
    for (Index j = 0; j < 6; ++j) least = std::min(least, t.heads[0].weights.at(i, j));
  return {least > 0, fmt::format("every word gets some weight: the least weight is {:.4f}", least)};
}

Found no_future() {
  Context ctx = one_thread();
  const Tensor q = random({1, 1, 6, 4}, 11), v = random({1, 1, 6, 4}, 13);
  Tensor k = random({1, 1, 6, 4}, 12), before({1, 1, 6, 4}), after({1, 1, 6, 4});
  const AttentionOptions causal{.visible = Visibility::causal()};
  attention_forward(ctx, q.view(), k.view(), v.view(), causal, before);
  for (Index d = 0; d < 4; ++d) k.view().set(0, 0, 5, d, 99.0);
  attention_forward(ctx, q.view(), k.view(), v.view(), causal, after);
  const bool kept = same_bits(before, after, 20), changed = !same_bits(before, after, 24);
  return {kept && changed, "a new last word changes its own output and no bit of the five before it"};
}

Found self_and_cross() {
  Context ctx = one_thread();
  const Tensor q = random({1, 1, 2, 4}, 14), k = random({1, 1, 6, 4}, 15);
  const AttentionResult cross = attention(q, k, k), self = attention(k, k, k);
  return {cross.out.shape() == Shape{1, 1, 2, 4} && self.out.shape() == Shape{1, 1, 6, 4},
          "one call: 2 queries on 6 keys of another sequence, 6 queries on their own"};
}

Found sums_to_one() {
  const Trace t = trace(journey(), {.parameters = Parameters::uniform});
  double worst = 0;
  bool between = true;
  for (Index i = 0; i < 6; ++i) {
    double sum = 0;
    for (Index j = 0; j < 6; ++j) {
      const double w = t.heads[0].weights.at(i, j);
      between = between && w >= 0 && w <= 1;
      sum += w;
    }
    worst = std::max(worst, std::abs(sum - 1));
  }
  return {between && worst < 1e-12, "all between 0 and 1, all rows sum to 1.0000; masks make zeros"};
}

Found gradients() {
  const Sentence s = journey();
  const Trace t = trace(s, {.parameters = Parameters::uniform});
  nn::SelfAttention layer(3, 2, false, Visibility::all(), DType::f64);
  const auto set = [](nn::Linear& to, const Tensor& from) {
    for (Index i = 0; i < 3; ++i)
      for (Index o = 0; o < 2; ++o) to.weight.value.view().set(o, i, from.at(i, o));
  };
  set(layer.query, t.heads[0].wq), set(layer.key, t.heads[0].wk), set(layer.value, t.heads[0].wv);
  Context ctx = one_thread();
  nn::SelfAttention::Saved saved;
  const Tensor out = layer.forward(ctx, s.x, &saved);
  (void)layer.backward(ctx, s.x, saved, out);  // of ½ Σ out²
  const double dwq = layer.query.weight.grad.at(Index{0}, Index{0}),
               dwv = layer.value.weight.grad.at(Index{1}, Index{2});
  return {std::abs(dwq - 0.03261275) < 5.1e-9 && std::abs(dwv - 2.73263255) < 5.1e-9,
          fmt::format("loss ½Σz²: dWq = {:.4f} …, dWv = … {:.4f}", dwq, dwv)};
}

}  // namespace headlight::lab::seeds
