// The list of attention cases that tests, fuzzer and benchmarks share: what a call looks like, drawn
// from a seed or from bytes, and the memory for it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headlight/attention.h"

namespace headlight::testing {

// What the numbers are like (robustness.md 2.3).
enum class Data {
  normal,
  constant,
  one_hot,
  scores_1e4,
  scores_1e38,
  all_minus_inf,
  mixed_inf,
  nan_visible,
  nan_hidden,
  denormal,
  tiny_weights,
  cancelling,
  minus_zero,
  large_bias,
  count
};

// How a [batch, head, token, dim] tensor lies in memory.
enum class Layout { dense, token_major, padded, shared_heads, reversed_batch, reversed_tokens, count };

// How much of [batch, head, query, key] a mask or bias spells out; the rest is broadcast.
enum class Spread { none, keys, queries_keys, heads_queries_keys, batch_keys, batch_queries, all, count };

enum class Ragged { none, k_lengths, both_lengths, packed, count };

struct Case {
  std::uint64_t seed = 0;  // of the numbers
  Index batch = 1, q_heads = 1, kv_heads = 1, q_len = 1, k_len = 1, dim = 1, value_dim = 1;
  DType dtype = DType::f32;
  Data data = Data::normal;
  Visibility visible = {};
  std::optional<double> scale = std::nullopt;
  double softcap = 0;
  bool alibi = false, sinks = false;
  Spread mask = Spread::none, bias = Spread::none;
  DType bias_dtype = DType::f32;
  Ragged ragged = Ragged::none;
  Layout q_layout = Layout::dense, k_layout = Layout::dense, v_layout = Layout::dense,
         out_layout = Layout::dense;
  Index shift = 0;                              // elements between a 64-byte boundary and each tensor
  std::vector<Index> q_ends = {}, k_ends = {};  // lengths, or starts when packed; by Ragged
  bool statistics = false;                      // ask for everything that AttentionOutputs has
  Index top = 3;
  Dropout dropout = {};

  [[nodiscard]] Index multiply_adds() const { return batch * q_heads * q_len * k_len * (dim + value_dim); }
  [[nodiscard]] Index elements() const {
    return batch * (q_heads * q_len * (dim + value_dim) + kv_heads * k_len * (dim + value_dim));
  }
};

[[nodiscard]] std::string describe(const Case& c);

// Every choice is one call of below(n), which answers 0 … n-1. `most` limits the multiply-adds.
[[nodiscard]] Case draw_case(const std::function<Index(Index n)>& below, Index most = Index{1} << 24);
// At most 2^24 multiply-adds, most far fewer.
[[nodiscard]] Case random_case(std::uint64_t seed);
// The same, one in four with dropout: which weights it drops depends on where a row is in its batch.
[[nodiscard]] Case random_training_case(std::uint64_t seed);

// A strided tensor inside a block of memory with 64 guard bytes before and after, and a pattern
// in the guards and in every gap between its elements.
class GuardedTensor {
 public:
  GuardedTensor() = default;
  GuardedTensor(GuardedTensor&&) = default;  // a copy's view would look into the original
  GuardedTensor& operator=(GuardedTensor&&) = default;
  GuardedTensor(const Shape& shape, DType dtype, Layout layout = Layout::dense, Index shift = 0);
  [[nodiscard]] const TensorView& view() const { return view_; }
  void fill(double x) const;
  [[nodiscard]] bool gaps_intact() const;
  // The elements in logical order, bit for bit.
  [[nodiscard]] std::vector<std::uint8_t> bits() const;

 private:
  std::vector<std::uint8_t> block_;
  TensorView view_;
};

// A case with its memory. Padding, and whatever a mask hides, is poisoned with NaN and infinities.
struct Instance {
  Case c;
  GuardedTensor q, k, v, bias, slopes, sinks;
  std::vector<std::uint8_t> mask;
  AttentionOptions options;  // borrows from this Instance

  explicit Instance(const Case& made);
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  [[nodiscard]] Index sequences() const;
  [[nodiscard]] Index longest(std::span<const Index> ends, Index whole) const;
};

// Everything that a call on an Instance may write, prefilled with NaN; absent when not asked for.
struct Results {
  GuardedTensor out, lse, max, entropy, sink_weight, weights, topk_index, topk_weight, received;

  Results(const Instance& instance, DType dtype, bool statistics);
  [[nodiscard]] AttentionOutputs views() const;
  [[nodiscard]] bool gaps_intact() const;
  // Same bits in everything that both have.
  [[nodiscard]] bool same_bits(const Results& other) const;
};

}  // namespace headlight::testing
