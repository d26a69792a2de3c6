// Calls of every public function of attention, each with all that it writes: for tests of what may not change it.
#pragma once

#include <array>

#include "headlight/attention.h"
#include "headlight/kv_cache.h"
#include "headlight/reference.h"
#include "support/float_modes.h"

namespace headlight::testing::attention_calls {

inline constexpr Index kBatch = 2, kHeads = 4, kKvHeads = 2, kQueries = 40, kKeys = 300, kDim = 7,
                       kColumns = 24;

// Tensors of one call, with every option that a padded batch can have.
struct Operands {
  DType type, statistic;
  Tensor q, k, v, dout, bias, mask, sinks, slopes;
  std::array<Index, kBatch> q_lengths{kQueries - 3, kQueries}, k_lengths{kKeys, kKeys - 40};

  explicit Operands(DType t)
      : type(t),
        statistic(t == DType::f64 ? DType::f64 : DType::f32),
        q(odd_numbers({kBatch, kHeads, kQueries, kDim}, t, 1)),
        k(odd_numbers({kBatch, kKvHeads, kKeys, kDim}, t, 2)),
        v(odd_numbers({kBatch, kKvHeads, kKeys, kColumns}, t, 3)),
        dout(odd_numbers({kBatch, kHeads, kQueries, kColumns}, t, 4)),
        bias(odd_numbers({1, kHeads, kQueries, kKeys}, statistic, 5)),
        mask({kBatch, 1, 1, kKeys}, DType::boolean),
        sinks(odd_numbers({kHeads}, statistic, 6)),
        slopes(odd_numbers({kHeads}, statistic, 7)) {
    for (Index i = 0; i < mask.shape().elements(); ++i) mask.as<std::uint8_t>()[i] = i % 5 != 0;
  }
  [[nodiscard]] AttentionOptions options() const {
    return {.visible = Visibility::causal(),
            .softcap = 5,
            .alibi_slopes = slopes,
            .bias = bias,
            .mask = mask,
            .sinks = sinks,
            .q_lengths = q_lengths,
            .k_lengths = k_lengths,
            .dropout = {.rate = 0.2, .seed = 9}};
  }
  [[nodiscard]] Tensor like_out() const { return Tensor(dout.shape(), type); }
  [[nodiscard]] Tensor per_row() const { return Tensor({kBatch, kHeads, kQueries}, statistic); }
};

// All that a forward call can write.
struct Results {
  Tensor out, lse, max, entropy, sink_weight, weights, topk_index, topk_weight, received;

  explicit Results(const Operands& o)
      : out(o.like_out()),
        lse(o.per_row()),
        max(o.per_row()),
        entropy(o.per_row()),
        sink_weight(o.per_row()),
        weights({kBatch, kHeads, kQueries, kKeys}, o.statistic),
        topk_index({kBatch, kHeads, kQueries, 3}, DType::i64),
        topk_weight({kBatch, kHeads, kQueries, 3}, o.statistic),
        received({kBatch, kHeads, kKeys}, o.statistic) {}
  [[nodiscard]] AttentionOutputs outputs() {
    return {out, lse, max, entropy, sink_weight, weights, topk_index, topk_weight, received};
  }
  void add_to(Bits& bits) const {
    for (const Tensor* x :
         {&out, &lse, &max, &entropy, &sink_weight, &weights, &topk_index, &topk_weight, &received})
      bits.add(*x);
  }
};

inline void call_forward(Context& ctx, DType type, Bits& bits) {
  const Operands o(type);
  Results all(o);
  attention_forward(ctx, o.q, o.k, o.v, o.options(), all.outputs());
  all.add_to(bits);
  attention_forward(ctx, o.q, o.k, o.v, {.scale = 0.3}, all.out, all.lse);
  bits.add(all.out);
  bits.add(all.lse);
}
inline void call_attention(Context&, DType type, Bits& bits) {
  const Operands o(type);
  const AttentionResult result = attention(o.q, o.k, o.v);
  bits.add(result.out);
  bits.add(result.lse);
}
// One sequence of few queries and many keys, whose segments are shared out and merged.
inline void call_long(Context& ctx, DType type, Bits& bits) {
  const Tensor q = odd_numbers({1, 2, 3, 16}, type, 8), k = odd_numbers({1, 1, 5000, 16}, type, 9);
  Tensor out(q.shape(), type), lse({1, 2, 3}, type == DType::f64 ? DType::f64 : DType::f32);
  attention_forward(ctx, q, k, k, {}, out, lse);
  bits.add(out);
  bits.add(lse);
}
inline void call_packed(Context& ctx, DType type, Bits& bits) {
  const Tensor q = odd_numbers({1, 2, 90, 16}, type, 10), k = odd_numbers({1, 2, 130, 16}, type, 11);
  const Index q_starts[] = {0, 20, 90}, k_starts[] = {0, 60, 130};
  Tensor out(q.shape(), type);
  attention_forward(ctx, q, k, k, {.q_starts = q_starts, .k_starts = k_starts}, out);
  bits.add(out);
}
inline void call_backward(Context& ctx, DType type, Bits& bits) {
  const Operands o(type);
  Tensor out = o.like_out(), lse = o.per_row(), dq(o.q.shape(), type), dk(o.k.shape(), type),
         dv(o.v.shape(), type), dbias(o.bias.shape(), o.statistic), dsinks({kHeads}, o.statistic);
  attention_forward(ctx, o.q, o.k, o.v, o.options(), out, lse);
  attention_backward(ctx, {o.q, o.k, o.v, out, lse}, o.dout, o.options(), {dq, dk, dv, dbias, dsinks});
  for (const Tensor* x : {&dq, &dk, &dv, &dbias, &dsinks}) bits.add(*x);
}
inline void call_recomputed(Context& ctx, DType type, Bits& bits) {
  const Operands o(type);
  Results all(o);
  attention_forward(ctx, o.q, o.k, o.v, o.options(), all.out, all.lse);
  const WeightSlice slice{.batch = 1, .head = 1, .queries = {0, kQueries}, .keys = {0, kKeys}};
  Tensor weights({kQueries, kKeys}, o.statistic), map({5, 7}, o.statistic);
  attention_weights(ctx, o.q, o.k, all.lse, o.options(), slice, weights);
  bits.add(weights);
  for (const Pool pool : {Pool::mean, Pool::max}) {
    attention_heat_map(ctx, o.q, o.k, all.lse, o.options(), slice, pool, map);
    bits.add(map);
  }
  attention_statistics(ctx, o.q, o.k, all.lse, o.options(),
                       {.max = all.max,
                        .entropy = all.entropy,
                        .sink_weight = all.sink_weight,
                        .topk_index = all.topk_index,
                        .topk_weight = all.topk_weight,
                        .received = all.received});
  all.add_to(bits);
}
inline void call_merge(Context& ctx, DType type, Bits& bits) {
  const Operands o(type);
  Results first(o), second(o);
  attention_forward(ctx, o.q, o.k, o.v, o.options(), first.out, first.lse);
  attention_forward(ctx, o.q, o.k, o.v, {}, second.out, second.lse);
  merge(ctx, first.out, first.lse, second.out, second.lse);
  merge(second.out, second.lse, first.out, first.lse);
  for (const Tensor* x : {&first.out, &first.lse, &second.out, &second.lse}) bits.add(*x);
}
// A cache that is filled, read and asked.
inline void call_cache(Context& ctx, DType type, Bits& bits) {
  const DType stored = type == DType::f64 ? DType::f32 : type;  // caches take no f64
  const Operands o(stored);
  AttentionOptions options = o.options();
  options.dropout = {};
  options.k_lengths = {};
  options.bias = {};
  options.mask = {};
  const Tensor more_k = odd_numbers({1, kKvHeads, 4, kDim}, stored, 12),
               more_v = odd_numbers({1, kKvHeads, 4, kColumns}, stored, 13);
  for (const KvType kind : {KvType::f32, KvType::f16, KvType::bf16, KvType::int8}) {
    KvCache cache(ctx,
                  {.items = kBatch, .kv_heads = kKvHeads, .dim = kDim, .value_dim = kColumns, .type = kind});
    cache.append(o.k, o.v, o.k_lengths);
    cache.append_to(1, more_k, more_v);
    Tensor k({kKvHeads, kKeys, kDim}), v({kKvHeads, kKeys, kColumns}, type == DType::f64 ? type : DType::f32);
    cache.read(0, {0, kKeys}, k, v);
    bits.add(k);
    bits.add(v);
    Tensor out(o.dout.shape(), stored), lse = o.per_row(), entropy = o.per_row();
    attention_decode(ctx, o.q, cache, options, {.out = out, .lse = lse, .entropy = entropy});
    attention_decode(ctx, o.q, cache, options, out, lse);
    for (const Tensor* x : {&out, &lse, &entropy}) bits.add(*x);
  }
}
// Small, as it is slow.
inline void call_reference(Context&, DType type, Bits& bits) {
  const Tensor q = odd_numbers({1, 2, 5, 4}, type, 14), k = odd_numbers({1, 1, 7, 4}, type, 15),
               dout = odd_numbers({1, 2, 5, 4}, type, 16);
  Tensor out(q.shape(), type), lse({1, 2, 5}, type == DType::f64 ? DType::f64 : DType::f32),
      dq(q.shape(), type), dk(k.shape(), type), dv(k.shape(), type);
  const AttentionOptions options{.softcap = 3};
  reference::attention(q, k, k, options, {.out = out, .lse = lse});
  reference::attention_backward({q, k, k, out, lse}, dout, options, {dq, dk, dv});
  for (const Tensor* x : {&out, &lse, &dq, &dk, &dv}) bits.add(*x);
}

[[nodiscard]] inline std::vector<NamedCall> all() {
  return {
      {{"attention_forward"}, call_forward},
      {{"attention"}, call_attention},
      {{"segments"}, call_long},
      {{"packed sequences"}, call_packed},
      {{"attention_backward"}, call_backward},
      {{"attention_weights", "attention_heat_map", "attention_statistics"}, call_recomputed},
      {{"merge"}, call_merge},
      {{"attention_decode", "KvCache::append", "KvCache::append_to", "KvCache::read"}, call_cache},
      {{"reference::attention", "reference::attention_backward"}, call_reference},
  };
}

}  // namespace headlight::testing::attention_calls
