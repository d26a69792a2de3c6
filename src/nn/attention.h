// Inside MultiHeadAttention: where queries, keys and values lie in the projections.
#pragma once

#include <vector>

#include "headlight/nn.h"

namespace headlight::nn {

// [token, head, dim] each, by strides in a projection's own memory.
struct MultiHeadAttention::Heads {
  TensorView q, k, v;
};

// [token, head, dim] as attention wants it: [1, head, token, dim].
[[nodiscard]] inline TensorView packed_heads(const TensorView& x) {
  return {x.data(),
          x.dtype(),
          {1, x.dim(1), x.dim(0), x.dim(2)},
          {x.dim(0) * x.stride(0), x.stride(1), x.stride(0), 1}};
}
// The same for `items` sequences of equal length: [item, head, token, dim].
[[nodiscard]] inline TensorView item_heads(const TensorView& x, Index items) {
  const Index tokens = x.dim(0) / items;
  return {x.data(),
          x.dtype(),
          {items, x.dim(1), tokens, x.dim(2)},
          {tokens * x.stride(0), x.stride(1), x.stride(0), 1}};
}
// A matrix [token, heads·dim] as [token, head, dim].
[[nodiscard]] inline TensorView split_heads(const TensorView& x, Index heads) {
  const Index dim = x.dim(1) / heads;
  return {x.data(), x.dtype(), {x.dim(0), heads, dim}, {x.stride(0), dim, 1}};
}

// `starts`, or one sequence of all tokens.
class StartsOr {
 public:
  StartsOr(std::span<const Index> starts, Index tokens) : whole_{0, tokens}, starts_(starts) {
    if (starts.empty()) starts_ = whole_;
  }
  StartsOr(const StartsOr&) = delete;
  StartsOr& operator=(const StartsOr&) = delete;
  [[nodiscard]] std::span<const Index> get() const { return starts_; }
  [[nodiscard]] Index sequences() const { return static_cast<Index>(starts_.size()) - 1; }

 private:
  Index whole_[2];
  std::span<const Index> starts_;
};

// Room in dropout's and observers' numbering for the steps of one layer.
inline constexpr std::uint64_t kPlacesPerLayer = 16;

}  // namespace headlight::nn
