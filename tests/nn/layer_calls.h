// Calls of every layer, each with all that it writes: for tests of what may not change it.
#pragma once

#include "headlight/nn.h"
#include "headlight/recurrent.h"
#include "support/float_modes.h"

namespace headlight::nn::layer_calls {

using headlight::testing::Bits;
using headlight::testing::NamedCall;
using headlight::testing::odd_numbers;

inline constexpr Index kTokens = 260, kWidth = 64;  // more than one thread takes
inline const std::vector<Index> kStarts = {0, 120, 260};

inline Tensor rows(DType type, std::uint64_t seed, Index width = kWidth) {
  return odd_numbers({kTokens, width}, type, seed);
}
template <class Layer>
inline Parameters with_values(Layer& layer) {
  Parameters list;
  layer.collect(list);
  std::uint64_t seed = 100;
  for (Parameter* p : list) p->value = odd_numbers(p->value.shape(), p->value.dtype(), seed++);
  return list;
}
inline void add_grads(Bits& bits, const Parameters& list) {
  for (const Parameter* p : list) bits.add(p->grad);
}
inline std::vector<std::int32_t> ids() {
  std::vector<std::int32_t> list;
  for (Index i = 0; i < kTokens; ++i) list.push_back(static_cast<std::int32_t>(i * 7 % 11));
  return list;
}

inline void call_linear(Context& ctx, DType type, Bits& bits) {
  Linear layer("x", {kWidth, kWidth}, type), other("y", {kWidth, kWidth}, type);
  const Parameters list = with_values(layer);
  with_values(other);
  const Tensor x = rows(type, 1), dy = rows(type, 2);
  bits.add(layer.forward(ctx, x));
  Tensor y({kTokens, kWidth}, type), z({kTokens, kWidth}, type);
  const Linear::Target targets[] = {{layer, y}, {other, z}};
  Linear::forward_all(ctx, x, targets);
  bits.add(z);
  bits.add(layer.backward(ctx, x, dy));
  layer.backward(ctx, x, dy, y, Linear::Write::add);
  layer.backward_input(ctx, dy, y, Linear::Write::add);
  layer.backward_weight(ctx, x, dy);
  layer.backward_bias(ctx, dy);
  bits.add(y);
  add_grads(bits, list);
  layer.adapt(3, 0.7);
  layer.adapter.a.value = odd_numbers(layer.adapter.a.value.shape(), type, 5);
  layer.adapter.b.value = odd_numbers(layer.adapter.b.value.shape(), type, 6);
  bits.add(layer.forward(ctx, x));
  layer.merge_adapter(ctx);
  bits.add(layer.weight.value);
}
inline void call_embedding(Context& ctx, DType type, Bits& bits) {
  Embedding layer("e", 11, kWidth, type);
  const Parameters list = with_values(layer);
  Tensor y = rows(type, 3);
  layer.forward_add(ctx, ids(), y);
  bits.add(y);
  layer.forward(ctx, ids(), y, 1.1);
  bits.add(y);
  layer.backward(ctx, ids(), y, 0.3);
  add_grads(bits, list);
  Embedding stored("s", 11, kWidth, DType::f32, Weights::stored);
  for (const StoredType as : {StoredType::f16, StoredType::q8_0, StoredType::int8}) {
    stored.weight.stored = StoredMatrix::from(odd_numbers({11, kWidth}, DType::f32, 4), as);
    Tensor z({kTokens, kWidth});
    stored.forward(ctx, ids(), z, 0.7);
    stored.forward_add(ctx, ids(), z);
    bits.add(z);
  }
}
inline void call_norm(Context& ctx, DType type, Bits& bits) {
  for (const NormKind kind : {NormKind::layer, NormKind::rms}) {
    Norm layer("n", {.kind = kind, .width = kWidth}, type);
    const Parameters list = with_values(layer);
    const Tensor x = rows(type, 5), add = rows(type, 6);
    Tensor sum({kTokens, kWidth}, type);
    Norm::Saved saved;
    bits.add(layer.forward_sum(ctx, x, add, sum));
    bits.add(layer.forward(ctx, x, &saved));
    bits.add(layer.backward(ctx, x, saved, add));
    add_grads(bits, list);
  }
}
inline void call_activations(Context& ctx, DType type, Bits& bits) {
  const Tensor x = rows(type, 7), dy = rows(type, 8), half = odd_numbers({kTokens, kWidth / 2}, type, 9);
  for (const Activation a : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu,
                             Activation::tanh, Activation::sigmoid}) {
    Tensor y({kTokens, kWidth}, type), narrow({kTokens, kWidth / 2}, type);
    activate(ctx, a, x, y);
    bits.add(y);
    Parameter bias{"b", Tensor({kWidth}, type)};
    activate_backward(ctx, a, x, dy, y, &bias);
    bits.add(y);
    bits.add(bias.grad);
    gate(ctx, a, x, narrow);
    gate_backward(ctx, a, x, half, y);
    bits.add(narrow);
    bits.add(y);
  }
  Tensor y({kTokens, kWidth}, type);
  drop(ctx, {.rate = 0.3, .seed = 5}, x, y, dy);
  add_to(ctx, x, y);
  scale(ctx, 1.7, y);
  bits.add(y);
}
inline void call_experts(Context& ctx, DType type, Bits& bits) {
  for (const auto score : {ExpertsConfig::Score::softmax, ExpertsConfig::Score::sigmoid}) {
    Experts layer(
        "e",
        {.count = 4, .used = 2, .score = score, .renormalised = true, .router_bias = true, .shared_inner = 8},
        {.width = kWidth, .inner = 16, .gated = true}, type);
    const Parameters list = with_values(layer);
    const Tensor x = rows(type, 20);
    Experts::Saved saved;
    bits.add(layer.forward(ctx, x, saved));
    bits.add(layer.backward(ctx, x, saved, rows(type, 21)));
    add_grads(bits, list);
  }
}
inline void call_feed_forward(Context& ctx, DType type, Bits& bits) {
  FeedForward layer("f", {.width = kWidth, .inner = 96, .gated = true}, type);
  const Parameters list = with_values(layer);
  const Tensor x = rows(type, 10);
  FeedForward::Saved saved;
  bits.add(layer.forward(ctx, x, &saved));
  bits.add(layer.backward(ctx, x, saved, rows(type, 11)));
  add_grads(bits, list);
}
inline void call_self_attention(Context& ctx, DType type, Bits& bits) {
  SelfAttention layer(kWidth, 16, true, Visibility::causal(), type);
  const Parameters list = with_values(layer);
  const Tensor x = rows(type, 12);
  SelfAttention::Saved saved;
  Tensor weights;
  bits.add(layer.forward(ctx, x, &saved, &weights));
  bits.add(weights);
  bits.add(layer.backward(ctx, x, saved, rows(type, 13, 16)));
  add_grads(bits, list);
}
inline MultiHeadAttentionConfig attention_config() {
  return {.width = kWidth,
          .heads = 4,
          .kv_heads = 2,
          .head_norm = NormConfig{.kind = NormKind::rms},
          .rope = RopeConfig{},
          .visible = Visibility::causal(),
          .softcap = 5,
          .dropout = 0.1};
}
inline void call_attention(Context& ctx, DType type, Bits& bits) {
  MultiHeadAttention layer("a", attention_config(), type);
  const Parameters list = with_values(layer);
  const Tensor x = rows(type, 14);
  MultiHeadAttention::Saved saved;
  const AttentionCall call{.starts = kStarts, .dropout_seed = 3};
  bits.add(layer.forward(ctx, x, call, &saved));
  bits.add(layer.backward(ctx, x, call, saved, rows(type, 15)));
  add_grads(bits, list);
  if (type != DType::f32) return;
  for (const KvType stored : {KvType::f32, KvType::int8}) {
    KvCache cache = layer.make_cache(ctx, 2, stored);
    bits.add(layer.forward(ctx, x, {.starts = kStarts, .cache = &cache}));
  }
}
// With the gradient of a bias, which is summed over what was broadcast.
inline void call_gradients_of_attention(Context& ctx, DType type, Bits& bits) {
  const Tensor q = odd_numbers({2, 4, 60, 16}, type, 27), k = odd_numbers({2, 2, 70, 16}, type, 28),
               bias = odd_numbers({1, 4, 60, 70}, type, 29), dout = odd_numbers(q.shape(), type, 30);
  Tensor out(q.shape(), type), lse({2, 4, 60}, type), dq(q.shape(), type), dk(k.shape(), type),
      dv(k.shape(), type), dbias(bias.shape(), type);
  const AttentionOptions options{.bias = bias};
  attention_forward(ctx, q, k, k, options, out, lse);
  attention_backward(ctx, {q, k, k, out, lse}, dout, options, {dq, dk, dv, dbias});
  for (const Tensor* x : {&out, &dq, &dk, &dv, &dbias}) bits.add(*x);
}
inline void call_block(Context& ctx, DType type, Bits& bits) {
  Block layer("b",
              {.attention = attention_config(),
               .feed_forward = {.width = kWidth, .inner = 96},
               .norm = {.width = kWidth},
               .dropout = 0.2},
              type);
  const Parameters list = with_values(layer);
  const Tensor x = rows(type, 16);
  Block::Saved saved;
  const BlockCall call{.self = {.starts = kStarts}, .dropout_seed = 2};
  bits.add(layer.forward(ctx, x, call, &saved));
  bits.add(layer.backward(ctx, x, call, saved, rows(type, 17)));
  add_grads(bits, list);
}
inline void call_loss(Context& ctx, DType type, Bits& bits) {
  Tensor logits = rows(type, 18);
  const CrossEntropy loss =
      cross_entropy(ctx, logits, ids(), {.scale = 0.1, .label_smoothing = 0.1, .softcap = 9});
  bits.add(loss.sum);
  bits.add(loss.plain);
  bits.add(logits);
}
inline void call_rope(Context& ctx, DType type, Bits& bits) {
  RopeConfig config{.theta = 1234.5};
  for (const auto kind : {RopeScaling::Kind::none, RopeScaling::Kind::linear, RopeScaling::Kind::dynamic,
                          RopeScaling::Kind::yarn, RopeScaling::Kind::llama3}) {
    config.scaling = {.kind = kind, .factor = 3, .original_positions = 50};
    bits.add(rope_frequencies(config, 16, 120));
    bits.add(rope_attention_factor(config));
    const RopeTable table(config, 16, 0, kTokens, type);
    Tensor x = odd_numbers({kTokens, 4, 16}, type, 19);
    const std::vector<Index> positions = positions_of(kStarts);
    table.rotate(ctx, x, positions);
    bits.add(x);
    table.rotate_back(ctx, x, positions);
    bits.add(x);
  }
}
inline void call_positions(Context&, DType type, Bits& bits) {
  bits.add(sinusoidal_positions(50, 15, SinusoidOrder::halves, type));
  bits.add(alibi_slopes(6, type));
  RelativeBias bias("r", {.heads = 3}, type);
  bias.table.value = odd_numbers(bias.table.value.shape(), type, 20);
  bits.add(bias.forward(3, 40, 43));
  bias.backward(3, odd_numbers({1, 3, 40, 43}, type, 21));
  bits.add(bias.table.grad);
  bits.add(static_cast<double>(bias.bucket(100, 7)));
}
inline void call_recurrent(Context& ctx, DType type, Bits& bits) {
  for (const CellKind kind : {CellKind::gru, CellKind::lstm}) {
    RecurrentLayer layer("r", {.kind = kind, .in = kWidth, .width = 24, .memory_width = kWidth}, type);
    const Parameters list = with_values(layer);
    const Tensor x = rows(type, 22);
    RecurrentLayer::Saved saved;
    const RecurrentCall call{.starts = kStarts, .memory = x, .memory_starts = kStarts};
    const RecurrentLayer::Result result = layer.forward(ctx, x, call, &saved);
    bits.add(result.y);
    bits.add(result.last);
    bits.add(layer.backward(ctx, x, call, saved, rows(type, 23, 24)));
    add_grads(bits, list);
  }
}
inline void call_stored(Context& ctx, DType, Bits& bits) {
  for (const StoredType as : {StoredType::f16, StoredType::bf16, StoredType::q8_0, StoredType::int8}) {
    Linear layer("s", {.in = kWidth, .out = kWidth, .weights = Weights::stored});
    layer.weight.stored = StoredMatrix::from(odd_numbers({kWidth, kWidth}, DType::f32, 24), as);
    bits.add(layer.forward(ctx, rows(DType::f32, 25)));
    bits.add(layer.forward(ctx, odd_numbers({3, kWidth}, DType::f32, 26)));
  }
}

[[nodiscard]] inline std::vector<NamedCall> all() {
  return {
      {{"Linear::forward", "Linear::forward_all", "Linear::backward", "Linear::backward_input",
        "Linear::backward_weight", "Linear::backward_bias", "Linear::merge_adapter"},
       call_linear},
      {{"Embedding::forward", "Embedding::forward_add", "Embedding::backward"}, call_embedding},
      {{"Norm::forward", "Norm::forward_sum", "Norm::backward"}, call_norm},
      {{"activate", "activate_backward", "gate", "gate_backward", "drop", "add_to", "scale"},
       call_activations},
      {{"FeedForward::forward", "FeedForward::backward"}, call_feed_forward},
      {{"Experts::forward", "Experts::backward"}, call_experts},
      {{"SelfAttention::forward", "SelfAttention::backward"}, call_self_attention},
      {{"MultiHeadAttention::forward", "MultiHeadAttention::backward"}, call_attention},
      {{"Block::forward", "Block::backward"}, call_block},
      {{"cross_entropy"}, call_loss},
      {{"RopeTable::rotate", "RopeTable::rotate_back"}, call_rope},
      {{"RecurrentLayer::forward", "RecurrentLayer::backward"}, call_recurrent},
      {{"attention_backward"}, call_gradients_of_attention},
      {{"stored matrices"}, call_stored},
      {{"positions"}, call_positions},
  };
}

}  // namespace headlight::nn::layer_calls
