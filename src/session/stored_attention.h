// The inputs of one attention call, kept after the run: weights, scores and outputs of any head and row are recomputed from
// them, with the same bits.
#pragma once

#include <vector>

#include "headlight/trace.h"

namespace headlight::session {

// A contiguous copy; nothing for an empty view.
[[nodiscard]] Tensor copy_of(ConstTensorView x);

class StoredAttention {
 public:
  // Inputs: keeps the input of the layer too.
  enum class Inputs { keep, leave_out };
  explicit StoredAttention(const AttentionEvent& event, Inputs inputs = Inputs::keep);
  StoredAttention(const StoredAttention&) = delete;
  StoredAttention& operator=(const StoredAttention&) = delete;

  [[nodiscard]] Part part() const noexcept { return part_; }
  [[nodiscard]] int layer() const noexcept { return layer_; }
  [[nodiscard]] Index heads() const { return q_.dim(1); }
  [[nodiscard]] Index kv_heads() const { return k_.dim(1); }
  [[nodiscard]] Index dim() const { return q_.dim(3); }
  [[nodiscard]] Index value_dim() const { return v_.dim(3); }
  [[nodiscard]] Index queries() const { return q_.dim(2); }
  [[nodiscard]] Index keys() const { return k_.dim(2); }
  // The input of the layer, [token, width], and the memory of cross-attention. Empty: there is none, or it was not kept.
  [[nodiscard]] ConstTensorView x() const { return x_; }
  [[nodiscard]] ConstTensorView memory() const { return memory_; }
  // The event that the observer of the run received; refers to this object.
  [[nodiscard]] AttentionEvent event(Context& ctx) const;
  // One head: views of its queries, keys and values, and the options for this head.
  struct OneHead {
    ConstTensorView q, k, v, lse;  // [1, 1, token, dim], [1, 1, token]
    AttentionOptions options;
  };
  [[nodiscard]] OneHead one_head(Index head) const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  Part part_;
  int layer_;
  Tensor q_, k_, v_, lse_, x_, memory_, stream_, slopes_, bias_, mask_, sinks_;
  std::vector<Index> q_starts_, k_starts_, positions_;
  AttentionOptions options_;
};

}  // namespace headlight::session
