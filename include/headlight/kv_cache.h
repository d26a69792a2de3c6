// A cache of the keys and values of growing sequences, and attention of new queries over it.
// See docs/guide/decoding.md.
//
//   headlight::KvCache cache(ctx, {.kv_heads = 8, .dim = 128});
//   cache.append(k, v);                                   // the new tokens, [item, kv_head, token, dim]
//   headlight::attention_decode(ctx, q, cache, {.visible = headlight::Visibility::causal()}, out);
//
// Keys are stored in pages, in the layout that the kernels read, and are never moved or packed again.
// An f32 cache gives the bits of attention_forward on the same keys, however they were appended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "headlight/attention.h"

namespace headlight {
class CacheStore;  // src/attention/cache_store.h; not exported
}

#pragma GCC visibility push(default)

namespace headlight {

// Storage type of keys and values; arithmetic is always in f32. int8 has a scale per token and head: the
// largest magnitude / 127. In int8 a row with NaN or infinities becomes NaN.
enum class KvType : std::uint8_t { f32, f16, bf16, int8 };
[[nodiscard]] std::string_view name_of(KvType type) noexcept;  // "int8"

struct KvCacheOptions {
  Index items = 1;  // sequences
  Index kv_heads = 1;
  Index dim = 0;
  Index value_dim = 0;  // 0: same as dim
  Index capacity = 0;   // tokens per item, allocated at once; 0: grows as needed
  KvType type = KvType::f32;
  // For sliding windows: keeps what the last `window` tokens need and reuses older pages. 0: keeps all.
  Index window = 0;
  Index page_keys = 0;  // tokens per page, a multiple of the key tile; 0: one tile
};

class KvCache {
 public:
  // Bound to the SIMD target of `ctx`. Keeps no reference to it.
  KvCache(const Context& ctx, const KvCacheOptions& options);
  ~KvCache();
  KvCache(KvCache&&) noexcept;
  KvCache& operator=(KvCache&&) noexcept;

  [[nodiscard]] const KvCacheOptions& options() const noexcept;
  [[nodiscard]] SimdTarget target() const noexcept;
  [[nodiscard]] Index tile_keys() const noexcept;    // pages are multiples of it
  [[nodiscard]] Index items() const noexcept;        // grows with fork()
  [[nodiscard]] Index length(Index item) const;      // tokens appended and not truncated
  [[nodiscard]] Index first_key(Index item) const;   // the oldest key that is kept
  [[nodiscard]] std::size_t bytes() const noexcept;  // of the pages in use

  // Appends tokens to every item: k [item, kv_head, token, dim] and v [item, kv_head, token,
  // value_dim], f32, f16 or bf16. With `counts`, item i takes only the first counts[i] of them. If this
  // throws, nothing has changed.
  void append(ConstTensorView k, ConstTensorView v, std::span<const Index> counts = {});
  // To one item: axis 0 of k and v is 1.
  void append_to(Index item, ConstTensorView k, ConstTensorView v);

  // Removes all tokens from `length` on, such as rejected guesses of speculative decoding.
  void truncate(Index item, Index length);
  // Adds an item with the contents of `item`. Pages are shared until one of them is written.
  Index fork(Index item);
  // The same into an existing item, which is cleared first: the first `length` tokens of `from`.
  void share_prefix(Index from, Index to, Index length);
  // Removes all items from number `count` on; undoes fork().
  void keep_items(Index count);
  void reset(Index item);
  void reset();

  // The stored tokens [keys) of one item, dequantised: [kv_head, token, dim], f32 or f64.
  // Either view may be empty.
  void read(Index item, Range keys, TensorView k, TensorView v) const;

  // Internal.
  [[nodiscard]] const CacheStore& store() const noexcept { return *store_; }

 private:
  std::unique_ptr<CacheStore> store_;
};

// Attention of the newest tokens over everything in the cache, including themselves: append first.
// q [item, head, new token, dim] in f32, f16 or bf16, out likewise with value_dim, lse [item, head, new
// token]. Supports every option of attention_forward except k_lengths (known to the cache), packed sequences
// and dropout; with q_lengths, items may have different numbers of new tokens. Mask and bias broadcast to [item,
// head, new token, longest item]; so do weights, and `received` has the keys of the longest item.
void attention_decode(Context& ctx, ConstTensorView q, const KvCache& cache, const AttentionOptions& options,
                      TensorView out, TensorView lse = {});
void attention_decode(Context& ctx, ConstTensorView q, const KvCache& cache, const AttentionOptions& options,
                      const AttentionOutputs& outputs);

}  // namespace headlight

#pragma GCC visibility pop
