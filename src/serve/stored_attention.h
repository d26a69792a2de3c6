// What one attention call saw, kept after the run: weights, scores and outputs can be computed from it again, to the
// same bits, for any head and row.
#pragma once

#include <vector>

#include "headlight/trace.h"

namespace headlight::serve {

class StoredAttention {
 public:
  explicit StoredAttention(const AttentionEvent& event);
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
  // What the layer read, [token, width]; the memory of cross-attention, else empty.
  [[nodiscard]] ConstTensorView x() const { return x_; }
  [[nodiscard]] ConstTensorView memory() const { return memory_; }
  // As the observer of the run saw it; refers to this object.
  [[nodiscard]] AttentionEvent event(Context& ctx) const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  Part part_;
  int layer_;
  Tensor q_, k_, v_, lse_, x_, memory_, slopes_, bias_, mask_, sinks_;
  std::vector<Index> q_starts_, k_starts_;
  AttentionOptions options_;
};

}  // namespace headlight::serve
