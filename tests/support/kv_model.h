// A KvCache as plain lists: what it must hold after any sequence of operations.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "headlight/kv_cache.h"

namespace headlight::testing {

// What a cache of `type` keeps of one row.
[[nodiscard]] inline std::vector<float> stored_row(std::vector<float> row, KvType type) {
  float most = 0;
  for (const float x : row) most = std::max(most, std::fabs(x));
  const float scale = most / 127.0F;
  for (float& x : row) {
    if (type == KvType::f16) x = to_float(to_f16(x));
    if (type == KvType::bf16) x = to_float(to_bf16(x));
    // No -0, and nothing of rows that are dust.
    if (type == KvType::int8) x = most < 0x1p-70F ? 0 : (std::nearbyint(x / scale) + 0.0F) * scale;
  }
  return row;
}

class KvModel {
 public:
  explicit KvModel(const KvCacheOptions& options) : o_(options), items_(static_cast<std::size_t>(o_.items)) {}

  // Keys and values of one token, all heads: [kv_head][dim].
  struct Token {
    std::vector<std::vector<float>> k, v;
  };
  using Tokens = std::vector<Token>;

  [[nodiscard]] Index items() const { return static_cast<Index>(items_.size()); }
  [[nodiscard]] Tokens& at(Index item) { return items_[static_cast<std::size_t>(item)]; }
  [[nodiscard]] Index length(Index item) { return static_cast<Index>(at(item).size()); }
  void fork(Index item) { items_.push_back(Tokens(at(item))); }
  void share_prefix(Index from, Index to, Index length) {
    at(to) = Tokens(at(from).begin(), at(from).begin() + length);
  }
  // Tokens [begin, end) as tensors of one batch item.
  [[nodiscard]] Tensor keys(Index item, Index begin, Index end) { return gather(item, begin, end, true); }
  [[nodiscard]] Tensor values(Index item, Index begin, Index end) { return gather(item, begin, end, false); }

 private:
  Tensor gather(Index item, Index begin, Index end, bool keys) {
    const Index width = keys ? o_.dim : o_.value_dim;
    Tensor x({1, o_.kv_heads, end - begin, width});
    for (Index h = 0; h < o_.kv_heads; ++h)
      for (Index t = begin; t < end; ++t) {
        const Token& token = at(item)[static_cast<std::size_t>(t)];
        const auto& row = (keys ? token.k : token.v)[static_cast<std::size_t>(h)];
        std::copy(row.begin(), row.end(), x.as<float>() + (h * (end - begin) + t - begin) * width);
      }
    return x;
  }

  KvCacheOptions o_;
  std::vector<Tokens> items_;
};

}  // namespace headlight::testing
