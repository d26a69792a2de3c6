// Attention on the CPU: softmax(q·kᵀ·scale + bias)·v, forward and backward, with weights and statistics on request.
//
//   auto [out, lse] = headlight::attention(q, k, v, {.visible = headlight::Visibility::causal()});
//
// q is [batch, head, query, dim], k [batch, kv_head, key, dim], v [batch, kv_head, key, value dim].
// f32, f64, f16 or bf16, all three alike; any strides with a contiguous last axis.
// The meaning of every option is written as plain loops in reference.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "headlight/context.h"
#include "headlight/error.h"
#include "headlight/tensor.h"

#pragma GCC visibility push(default)

namespace headlight {

// A half-open range of positions: begin <= p < end.
struct Range {
  Index begin = 0, end = 0;
  [[nodiscard]] constexpr Index size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

// Which keys a query may see. For one query it is always a single range of keys, so the kernels skip,
// compute or trim whole tiles without knowing the kind of mask. Queries are aligned with the END of
// the keys: with a cache of 100 keys and one new query, that query has position 99.
struct Visibility {
  static constexpr Index kUnbounded = std::numeric_limits<Index>::max() / 4;
  Index left = kUnbounded;   // number of earlier keys
  Index right = kUnbounded;  // number of later keys
  // If given: no key after the query itself, except the first `prefix` keys, which all queries see.
  std::optional<Index> prefix = std::nullopt;
  std::optional<Index> offset = std::nullopt;  // position of query 0 (default: k_len - q_len)
  // If not 0: positions are cut into chunks of this size, and no query sees a key of an earlier chunk.
  Index chunk = 0;

  static constexpr Visibility all() { return {}; }
  static constexpr Visibility causal() { return {.right = 0}; }
  static constexpr Visibility window(Index keys) { return {.left = keys - 1, .right = 0}; }
  static constexpr Visibility prefix_lm(Index n) { return {.prefix = n}; }
  static constexpr Visibility chunks(Index keys) { return {.left = keys - 1, .right = 0, .chunk = keys}; }

  [[nodiscard]] constexpr Index position(Index query, Index q_len, Index k_len) const {
    return query + offset.value_or(k_len - q_len);
  }
  [[nodiscard]] constexpr Range keys_for(Index query, Index q_len, Index k_len) const {
    const Index pos = position(query, q_len, k_len);
    const Index first = chunk > 0 && pos > 0 ? std::max(pos - left, pos / chunk * chunk) : pos - left;
    const Index begin = std::clamp<Index>(first, 0, k_len);
    Index end = std::min(k_len, pos + right + 1);
    if (prefix) end = std::min(end, std::max(pos + 1, *prefix));
    return {begin, std::max(begin, end)};
  }
};

// Drops weights after the softmax and scales the others by 1/(1 - rate); lse, statistics and returned
// weights are those before dropout. The choice depends only on (seed, layer) and the logical
// position (batch item or sequence, head, query, key), never on tiles, threads or padding.
struct Dropout {
  double rate = 0;  // 0 ≤ rate < 1
  std::uint64_t seed = 0;
  std::uint64_t layer = 0;
};

// score = cap(scale · q·k), then ALiBi, then bias; keys outside `visible` or `mask` are hidden.
// Options are valid for one call and do not own the data they point to.
struct AttentionOptions {
  std::optional<double> scale = std::nullopt;  // default: 1/sqrt(dim)
  Visibility visible = Visibility::all();
  double softcap = 0;                // cap·tanh(score/cap); 0 means none
  ConstTensorRef alibi_slopes = {};  // [head]: score -= slope·|query position - key|
  ConstTensorRef bias = {};          // broadcasts to [batch, head, query, key]
  ConstTensorRef mask = {};          // boolean, true = visible; broadcasts likewise
  ConstTensorRef sinks = {};         // [head]: one additional logit per row, with no value
  std::span<const Index> q_lengths = {}, k_lengths = {};  // per batch item; the rest is padding
  // Packed sequences: batch is 1, sequence s has tokens starts[s] … starts[s+1]-1. Mask and bias
  // are then [sequence, head, longest query, longest key].
  std::span<const Index> q_starts = {}, k_starts = {};
  Dropout dropout = {};
};

// Outputs of a call. Empty views are not computed; requesting more never changes a bit of the rest.
// Statistics have the accumulation type: f64 for f64, f32 for all others.
struct AttentionOutputs {
  TensorRef out;               // [batch, head, query, value dim], dtype of q
  TensorRef lse = {};          // [batch, head, query]: log of the softmax denominator, nats
  TensorRef max = {};          // [batch, head, query]: largest score
  TensorRef entropy = {};      // [batch, head, query]: nats, of weights and sink
  TensorRef sink_weight = {};  // [batch, head, query]: weight of the sink
  TensorRef weights = {};      // [batch, head, query, key]; packed: [sequence, head, longest…]
  TensorRef topk_index = {};   // [batch, head, query, k ≤ 32] i64, largest weight first, -1: none
  TensorRef topk_weight = {};  // [batch, head, query, k]
  TensorRef received = {};     // [batch, head, key]: sum of the weights over the queries
};

// The simplest call: allocates, and returns the output and its log-sum-exp.
struct AttentionResult {
  Tensor out, lse;
};
[[nodiscard]] AttentionResult attention(ConstTensorView q, ConstTensorView k, ConstTensorView v,
                                        const AttentionOptions& options = {});

// The call for training and serving: writes to the given views and, once its Context is warm, allocates
// nothing. Writes every element of each output and reads none.
void attention_forward(Context& ctx, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                       const AttentionOptions& options, TensorView out, TensorView lse = {});
void attention_forward(Context& ctx, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                       const AttentionOptions& options, const AttentionOutputs& outputs);

// Gradients of a loss with respect to the inputs, given dout, its gradient with respect to out. Weights
// are recomputed from lse; nothing else has to be kept. An empty view is not computed; every
// element of the others is written. Supports every option of the forward call.
struct AttentionSaved {
  ConstTensorRef q, k, v, out, lse;
};
struct AttentionGrads {
  TensorRef dq, dk, dv;   // shape and dtype of q, k, v
  TensorRef dbias = {};   // shape of options.bias: summed over broadcast axes; accumulation type
  TensorRef dsinks = {};  // [head], accumulation type
};
void attention_backward(Context& ctx, const AttentionSaved& saved, ConstTensorView dout,
                        const AttentionOptions& options, const AttentionGrads& grads);

// A section of one head's weight matrix, [queries, keys]. With the lse of a call it has the bits of that call's weights,
// if v is as wide as k or both together have at most 256 columns (f64: 128). Each row is summed again over all its keys.
struct WeightSlice {
  Index batch = 0, head = 0;  // packed: batch is the sequence
  Range queries, keys;
};
void attention_weights(Context& ctx, ConstTensorView q, ConstTensorView k, ConstTensorView lse,
                       const AttentionOptions& options, const WeightSlice& slice, TensorView weights);

// Statistics recomputed from lse, each with the bits of AttentionOutputs as above; empty views are not computed.
struct AttentionStatistics {
  TensorRef max = {}, entropy = {}, sink_weight = {};  // [batch, head, query]
  TensorRef topk_index = {}, topk_weight = {};         // [batch, head, query, k ≤ 32]
  TensorRef received = {};                             // [batch, head, key]
};
void attention_statistics(Context& ctx, ConstTensorView q, ConstTensorView k, ConstTensorView lse,
                          const AttentionOptions& options, const AttentionStatistics& wanted);

// An image of any slice, without storing the slice: map is [rows, columns], each cell the mean
// or the largest weight of its area of queries × keys.
enum class Pool { mean, max };
void attention_heat_map(Context& ctx, ConstTensorView q, ConstTensorView k, ConstTensorView lse,
                        const AttentionOptions& options, const WeightSlice& slice, Pool pool, TensorView map);

// Merges attention over other keys into (out, lse), in any order; (0, -inf) changes no bit. Without a Context
// it uses default_context().
void merge(Context& ctx, TensorView out, TensorView lse, ConstTensorView other_out,
           ConstTensorView other_lse);
void merge(TensorView out, TensorView lse, ConstTensorView other_out, ConstTensorView other_lse);

}  // namespace headlight

#pragma GCC visibility pop
