// Whether two layer configs are equal, member by member.
#pragma once

#include <tuple>

#include "headlight/nn.h"

namespace headlight {

[[nodiscard]] inline bool operator==(const Visibility& a, const Visibility& b) {
  return std::tie(a.left, a.right, a.prefix, a.offset, a.chunk) ==
         std::tie(b.left, b.right, b.prefix, b.offset, b.chunk);
}

namespace nn {

[[nodiscard]] inline bool operator==(const FeedForwardConfig& a, const FeedForwardConfig& b) {
  const auto members = [](const FeedForwardConfig& c) {
    return std::tie(c.width, c.inner, c.activation, c.gated, c.gate_packed, c.gate_pairs, c.gate_limit,
                    c.bias, c.layout, c.weights);
  };
  return members(a) == members(b);
}

[[nodiscard]] inline bool operator==(const MultiHeadAttentionConfig& a, const MultiHeadAttentionConfig& b) {
  const auto members = [](const MultiHeadAttentionConfig& c) {
    return std::tie(c.width, c.heads, c.kv_heads, c.head_dim, c.cross, c.projections, c.qkv_bias, c.out_bias,
                    c.layout, c.weights, c.head_norm, c.head_norm_place, c.latent, c.rope, c.visible, c.scale,
                    c.query_growth, c.softcap, c.alibi, c.sinks, c.disentangled, c.dropout, c.layer, c.part);
  };
  return members(a) == members(b);
}

[[nodiscard]] inline bool operator==(const BlockConfig& a, const BlockConfig& b) {
  const auto members = [](const BlockConfig& c) {
    return std::tie(c.attention, c.cross, c.feed_forward, c.experts, c.norm, c.norm_place, c.attention_normed,
                    c.shape, c.residual_scale, c.dropout, c.residual);
  };
  return members(a) == members(b);
}

}  // namespace nn
}  // namespace headlight
