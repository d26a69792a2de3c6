// Whether two layers are described alike, member by member.
#pragma once

#include <tuple>

#include "headlight/nn.h"

namespace headlight {

[[nodiscard]] inline bool operator==(const Visibility& a, const Visibility& b) {
  return std::tie(a.left, a.right, a.prefix, a.offset) == std::tie(b.left, b.right, b.prefix, b.offset);
}

namespace nn {

[[nodiscard]] inline bool operator==(const FeedForwardConfig& a, const FeedForwardConfig& b) {
  const auto members = [](const FeedForwardConfig& c) {
    return std::tie(c.width, c.inner, c.activation, c.gated, c.gate_packed, c.bias, c.layout, c.weights);
  };
  return members(a) == members(b);
}

[[nodiscard]] inline bool operator==(const MultiHeadAttentionConfig& a, const MultiHeadAttentionConfig& b) {
  const auto members = [](const MultiHeadAttentionConfig& c) {
    return std::tie(c.width, c.heads, c.kv_heads, c.head_dim, c.cross, c.projections, c.qkv_bias, c.out_bias,
                    c.layout, c.weights, c.head_norm, c.rope, c.visible, c.scale, c.softcap, c.alibi,
                    c.dropout, c.layer, c.part);
  };
  return members(a) == members(b);
}

[[nodiscard]] inline bool operator==(const BlockConfig& a, const BlockConfig& b) {
  const auto members = [](const BlockConfig& c) {
    return std::tie(c.attention, c.cross, c.feed_forward, c.norm, c.norm_place, c.shape, c.dropout);
  };
  return members(a) == members(b);
}

}  // namespace nn
}  // namespace headlight
