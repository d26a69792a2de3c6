// Observing a model. An observer is an argument of a run: attention modules pass it their data, and it
// decides what to compute, for which heads and rows. Runs without an observer pay nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headlight/attention.h"
#include "headlight/context.h"
#include "headlight/tensor.h"

#pragma GCC visibility push(default)

namespace headlight {

// Which attention of a model: encoder self-attention, decoder self-attention, or cross-attention of the decoder.
enum class Part : std::uint8_t { encoder, decoder, cross };
[[nodiscard]] std::string_view name_of(Part part) noexcept;  // "cross"

// One attention call, with q and k after rotations and norms. Sequences are packed: batch is 1, and options.q_starts and
// k_starts give their first tokens. Views are valid during the call only.
struct AttentionEvent {
  Context& ctx;
  int layer;
  Part part;
  ConstTensorRef q, k, v;  // [1, head, token, dim]
  ConstTensorRef lse;      // [1, head, token]
  const AttentionOptions& options;
  // Inputs of the layer, [token, width]: queries are projected from x, keys and values from `memory` if given, else from x.
  // `stream` is the input of the norm that produced x; empty without such a norm.
  ConstTensorRef x = {}, memory = {}, stream = {};
  // Position of each query in its sequence, including tokens of earlier calls; empty if the layer has no use for them.
  std::span<const Index> positions = {};

  [[nodiscard]] Index sequences() const { return static_cast<Index>(options.q_starts.size()) - 1; }
  // Queries and keys of one sequence.
  [[nodiscard]] Index queries(Index sequence) const;
  [[nodiscard]] Index keys(Index sequence) const;
  // Rows `queries` of one head's weight matrix, exactly as the model used them: [queries, keys].
  [[nodiscard]] Tensor weights(Index sequence, Index head, Range queries) const;
  [[nodiscard]] Tensor weights(Index sequence, Index head) const;  // all rows
};

// The residual stream between blocks: layer 0 is the input of the first block, layer n the output of block n-1.
struct ResidualEvent {
  Part part;  // encoder or decoder
  int layer;
  ConstTensorRef x;  // [token, width]
  std::span<const Index> starts;
};

// The experts selected for the tokens of a layer.
struct ExpertsEvent {
  Part part;
  int layer;
  ConstTensorRef logits;                  // [token, expert]: of the router, unmodified
  Index used;                             // experts for each token
  std::span<const std::int32_t> experts;  // [token, used], the one with the largest weight first
  std::span<const double> weights;        // likewise: factors of the experts' outputs
  std::span<const Index> starts;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_attention(const AttentionEvent& /*event*/) {}
  virtual void on_residual(const ResidualEvent& /*event*/) {}
  virtual void on_experts(const ExpertsEvent& /*event*/) {}
};

// The attention call that is about to start.
struct AttentionPlace {
  Part part;
  int layer;
  Index heads;
  std::span<const Index> positions;  // of each query in its sequence, including tokens of earlier calls
  std::span<const Index> q_starts, k_starts;
};

// Changes to heads and to the residual stream in one run: an argument next to the observer. Runs without one keep their
// bits. Observers see what was computed, before the intervention changes it. A run with an intervention has no backward
// pass.
class Intervention {
 public:
  virtual ~Intervention() = default;
  // Hides keys from queries before the softmax: booleans as in AttentionOptions, [1 or sequence, 1 or
  // head, longest query, longest key], false for hidden keys. Empty: no change. The intervention owns the memory,
  // which stays valid until the next call.
  [[nodiscard]] virtual ConstTensorView mask(const AttentionPlace& /*place*/) { return {}; }
  // Changes the outputs of heads before the output projection: z is [token, head, dim]. k and v of the event
  // are empty when they are in a cache, unless reads_keys().
  virtual void on_heads(const AttentionEvent& /*event*/, TensorView /*z*/) {}
  [[nodiscard]] virtual bool reads_keys() const { return false; }
  // Changes the stream between blocks before the next block (or the final norm) reads it: x is event.x, writable.
  virtual void on_residual(const ResidualEvent& /*event*/, TensorView /*x*/) {}
};

// Records weight matrices: all of them, or those that the fields select.
struct RecordOptions {
  std::optional<Part> part = std::nullopt;
  std::optional<int> layer = std::nullopt;
  std::optional<Index> head = std::nullopt;
  Index sequence = 0;
};
class AttentionRecorder : public Observer {
 public:
  struct Entry {
    Part part;
    int layer;
    Index head;
    Tensor weights;  // [query, key]
  };

  explicit AttentionRecorder(const RecordOptions& options = {}) : options_(options) {}
  void on_attention(const AttentionEvent& event) override;
  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
  // The last recorded matrix of this head; throws Error{usage} if there is none.
  [[nodiscard]] const Tensor& weights(Part part, int layer, Index head) const;

 private:
  RecordOptions options_;
  std::vector<Entry> entries_;
};

}  // namespace headlight

#pragma GCC visibility pop
