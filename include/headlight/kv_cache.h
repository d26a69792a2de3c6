// Keys and values of a growing sequence, kept for the queries that are still to come, and attention of
// new queries on them.
//
//   headlight::KvCache cache(ctx, {.kv_heads = 8, .dim = 128});
//   cache.append(k, v);                                   // the new tokens, [item, kv_head, token, dim]
//   headlight::attention_decode(ctx, q, cache, {.visible = headlight::Visibility::causal()}, out);
//
// Keys lie in pages, in the layout in which the kernels read them, and are never moved or packed again.
// An f32 cache gives the bits that attention_forward gives on the same keys, however they came in.
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

// How keys and values are stored; computing is in f32 always. int8 has a scale per token and head: the
// largest magnitude / 127. A row with NaN or infinities becomes NaN as a whole there.
enum class KvType : std::uint8_t { f32, f16, bf16, int8 };
[[nodiscard]] std::string_view name_of(KvType type) noexcept;  // "int8"

struct KvCacheOptions {
  Index items = 1;  // sequences
  Index kv_heads = 1;
  Index dim = 0;
  Index value_dim = 0;  // 0: as dim
  Index capacity = 0;   // tokens an item may hold, memory set aside at once; 0: grows as needed
  KvType type = KvType::f32;
  // For sliding windows: what the last `window` tokens need is kept, older pages are used again. 0: all.
  Index window = 0;
  Index page_keys = 0;  // tokens of a page, a multiple of the key tile; 0: one tile
};

class KvCache {
 public:
  // For one SIMD target, that of `ctx`. No reference to it is kept.
  KvCache(const Context& ctx, const KvCacheOptions& options);
  ~KvCache();
  KvCache(KvCache&&) noexcept;
  KvCache& operator=(KvCache&&) noexcept;

  [[nodiscard]] const KvCacheOptions& options() const noexcept;
  [[nodiscard]] SimdTarget target() const noexcept;
  [[nodiscard]] Index tile_keys() const noexcept;    // pages are multiples of it
  [[nodiscard]] Index items() const noexcept;        // grows with fork()
  [[nodiscard]] Index length(Index item) const;      // tokens appended and not rolled back
  [[nodiscard]] Index first_key(Index item) const;   // the oldest that is still there
  [[nodiscard]] std::size_t bytes() const noexcept;  // of the pages in use

  // Adds tokens to the end of every item: k [item, kv_head, token, dim] and v [item, kv_head, token,
  // value_dim], f32, f16 or bf16. With `counts` item i takes only the first counts[i] of them. Either all
  // of it happens or, when this throws, nothing.
  void append(ConstTensorView k, ConstTensorView v, std::span<const Index> counts = {});
  // To one item alone: axis 0 of k and v is 1.
  void append_to(Index item, ConstTensorView k, ConstTensorView v);

  // Forgets all tokens from `length` on, such as guesses that turned out wrong.
  void truncate(Index item, Index length);
  // A new item, the last one, with everything that `item` has. Pages are shared until one side writes.
  Index fork(Index item);
  // The same into an existing item, which forgets what it had: the first `length` tokens of `from`.
  void share_prefix(Index from, Index to, Index length);
  // Forgets the items from number `count` on: the way back from fork().
  void keep_items(Index count);
  void reset(Index item);
  void reset();

  // What is stored for tokens [keys) of one item, dequantised: [kv_head, token, dim], f32 or f64.
  // Either view may be empty.
  void read(Index item, Range keys, TensorView k, TensorView v) const;

  // For the library's own drivers.
  [[nodiscard]] const CacheStore& store() const noexcept { return *store_; }

 private:
  std::unique_ptr<CacheStore> store_;
};

// Attention of the newest tokens on everything in the cache, themselves included: append first.
// q [item, head, new token, dim] in f32, f16 or bf16, out likewise with value_dim, lse [item, head, new
// token]. Every option of attention_forward except k_lengths, which are the cache's, packed sequences and
// dropout; with q_lengths items have unequal numbers of new tokens. Mask and bias broadcast to [item,
// head, new token, longest item]; so do weights, and `received` has the keys of the longest item.
void attention_decode(Context& ctx, ConstTensorView q, const KvCache& cache, const AttentionOptions& options,
                      TensorView out, TensorView lse = {});
void attention_decode(Context& ctx, ConstTensorView q, const KvCache& cache, const AttentionOptions& options,
                      const AttentionOutputs& outputs);

}  // namespace headlight

#pragma GCC visibility pop
