// The pages of a KvCache, as read by the forward driver.
#pragma once

#include <cstddef>
#include <vector>

#include "attention/page_pool.h"
#include "attention/tile_plan.h"
#include "headlight/kv_cache.h"
#include "kernels/cache_tile.h"

namespace headlight {

// Layout of one head's tile, and of heads and tiles in a page. Offsets in bytes.
struct PageLayout {
  kernels::Stored type = kernels::Stored::f32;
  kernels::PanelOrder order;
  int panel = 0, tile_keys = 0;
  Index dim = 0, value_dim = 0, columns = 0;  // columns: value_dim up to whole panels
  Index element = 0;                          // bytes of one
  Index keys = 0, values = 0, key_scales = 0, value_scales = 0, tile_bytes = 0;
  Index page_keys = 0, kv_heads = 0;

  [[nodiscard]] Index page_bytes() const { return kv_heads * (page_keys / tile_keys) * tile_bytes; }
  [[nodiscard]] Index pages(Index tokens) const { return (tokens + page_keys - 1) / page_keys; }
  // The tile of `key` (counted inside its page) of one head.
  [[nodiscard]] Index tile(Index head, Index key) const {
    return (head * (page_keys / tile_keys) + key / tile_keys) * tile_bytes;
  }
};

struct CacheItem {
  Index first_page = 0;  // pages before it have left the window
  std::vector<Page*> pages;
};

class CacheStore {
 public:
  CacheStore(const Context& ctx, const KvCacheOptions& given);

  KvCacheOptions options;
  SimdTarget target;
  const kernels::CacheKernels& cache_kernels;
  const kernels::AttentionKernels<float> kernels;  // absorb() and weigh() read tiles of this cache
  TilePlan plan;
  PageLayout layout;
  PagePool pool;
  std::vector<CacheItem> items;
  std::vector<Index> lengths;  // by item

  [[nodiscard]] Index first_key(Index item) const {
    return std::min(lengths[static_cast<std::size_t>(item)],
                    items[static_cast<std::size_t>(item)].first_page * layout.page_keys);
  }
  // The tile that holds `key` of one head.
  [[nodiscard]] std::byte* tile(Index item, Index head, Index key) const {
    const CacheItem& of = items[static_cast<std::size_t>(item)];
    const Index page = key / layout.page_keys;
    return of.pages[static_cast<std::size_t>(page - of.first_page)]->data +
           layout.tile(head, key % layout.page_keys);
  }

  // Sizes of a call on all items; the queries' are 0.
  [[nodiscard]] CallShape shape() const;
  // The tile of keys `first` … as the kernels read it; the next one begins before `end` or not at all.
  [[nodiscard]] kernels::StoredTile place(Index item, Index head, Index first, Index end) const {
    const std::byte* data = tile(item, head, first);
    return {data + layout.keys,
            data + layout.values,
            reinterpret_cast<const float*>(data + layout.key_scales),
            reinterpret_cast<const float*>(data + layout.value_scales),
            first + layout.tile_keys < end ? tile(item, head, first + layout.tile_keys) : data,
            layout.tile_keys};
  }

  void append(Index item, ConstTensorView k, ConstTensorView v, Index batch, Index count);
  // Pages that appending `count` tokens takes from the pool, at most.
  [[nodiscard]] Index pages_for(Index item, Index count) const;
  // Will an item of `length` tokens fill pages? One page is as large as a short item gets.
  [[nodiscard]] bool fills_pages(Index length) const { return length > layout.page_keys; }
  // Reserves space in the item's list of pages, so that append() cannot fail.
  void make_room(Index item, Index count) {
    std::vector<Page*>& held = items[static_cast<std::size_t>(item)].pages;
    held.reserve(held.size() + static_cast<std::size_t>(pages_for(item, count)));
  }
  void truncate(Index item, Index length) noexcept;
  void share(Index from, Index to, Index length);
  void fork(Index item);
  void drop_last_item() noexcept;
  // Tokens [keys) of one item, dequantised: [kv_head, token, dim]; an empty view is not written.
  void read(Index item, Range keys, const TensorView& k, const TensorView& v) const;

 private:
  void leave_window(Index item) noexcept;
  void own_last_page(CacheItem& item, Index length) noexcept;
  void copy_keys(const std::byte* from, std::byte* to, Index keys) const noexcept;
  void write(Index item, ConstTensorView k, ConstTensorView v, Index batch, Index from, Index count);
  void write_head(std::byte* tile, int slot, int n, const std::byte* k, Index k_stride, const std::byte* v,
                  Index v_stride, DType dtype);

  std::vector<float> row_;         // one row, widened
  std::vector<std::byte> narrow_;  // a panel of rows in the stored type
};

}  // namespace headlight
