// Inside MultiHeadAttention: the layout of queries, keys and values in the projections.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "headlight/nn.h"

namespace headlight::nn {

// [token, head, dim] each, by strides in a projection's own memory.
struct MultiHeadAttention::Heads {
  TensorView q, k, v;
};

// [token, head, dim] in the axis order of attention: [1, head, token, dim].
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

// The backward pass, for contiguous heads.
[[nodiscard]] inline TensorView joined_heads(const TensorView& x) {
  return {x.data(), x.dtype(), {x.dim(0), x.dim(1) * x.dim(2)}, {x.stride(0), 1}};
}

[[nodiscard]] inline double query_growth(const QueryGrowth& growth, double position) {
  return std::log1p(std::floor((position + 1) / growth.every)) * growth.scale + 1;
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

// Fills in defaults: starts, positions, the table of rotations.
class CompleteCall {
 public:
  CompleteCall(const MultiHeadAttentionConfig& config, const AttentionCall& call, Index tokens, DType dtype)
      : starts_(call.starts, tokens),
        memory_starts_(call.memory_starts, call.memory.empty() ? 0 : call.memory.dim(0)),
        call_(call) {
    call_.starts = starts_.get();
    call_.memory_starts = memory_starts_.get();
    if (call_.layer < 0) call_.layer = config.layer;
    if (!config.rope && !config.query_growth && call_.intervention == nullptr) return;
    if (call_.positions.empty()) {
      positions_ = positions_of(call_.starts);
      if (call_.cache != nullptr && !config.cross) {
        std::size_t token = 0;
        for (Index i = 0; i < starts_.sequences(); ++i)
          for (Index n = call_.starts[static_cast<std::size_t>(i + 1)]; static_cast<Index>(token) < n;
               ++token)
            positions_[token] += call_.cache->length(i);
      }
      call_.positions = positions_;
    }
    if (config.rope && call_.rope == nullptr && tokens > 0) {
      const auto [low, high] = std::minmax_element(call_.positions.begin(), call_.positions.end());
      table_ = RopeTable(*config.rope, config.turned_dim(), *low, *high + 1, dtype);
      call_.rope = &table_;
    }
  }
  [[nodiscard]] const AttentionCall& get() const { return call_; }

 private:
  StartsOr starts_, memory_starts_;
  AttentionCall call_;
  std::vector<Index> positions_;
  RopeTable table_;
};

// Row of the table of distances for a key `distance` tokens before the query.
[[nodiscard]] Index distance_bucket(const Disentangled& config, Index distance);

// Numbers reserved for the steps of one layer, for dropout and observers.
inline constexpr std::uint64_t kPlacesPerLayer = 16;

}  // namespace headlight::nn
