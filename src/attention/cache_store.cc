#include "attention/cache_store.h"

#include <cstring>

#include "attention/view_checks.h"
#include "core/concat.h"
#include "kernels/kernels.h"

namespace headlight {
namespace {

HEADLIGHT_COLD void refuse_option(const char* name, Index found, const std::string& need) {
  refuse(ErrorKind::usage, "kv_cache.options", concat("KvCache: ", name, " is ", found, "; need ", need));
}

void check_options(const KvCacheOptions& o) {
  constexpr Index kWidest = Index{1} << 16, kMost = Index{1} << 40;
  const auto check = [](const char* name, Index found, Index least, Index most) {
    if (found < least || found > most) refuse_option(name, found, concat(least, " to ", most));
  };
  check("items", o.items, 0, Index{1} << 20);
  check("kv_heads", o.kv_heads, 1, kWidest);
  check("dim", o.dim, 1, kWidest);
  check("value_dim", o.value_dim, 0, kWidest);
  check("capacity", o.capacity, 0, kMost);
  check("window", o.window, 0, kMost);
  check("page_keys", o.page_keys, 0, kWidest);
}

// The kernels have the same names in the same order.
kernels::Stored stored_as(KvType type) { return static_cast<kernels::Stored>(type); }
static_assert(static_cast<int>(KvType::bf16) == static_cast<int>(kernels::Stored::bf16));
static_assert(static_cast<int>(KvType::int8) == static_cast<int>(kernels::Stored::int8));

kernels::AttentionKernels<float> kernels_of(SimdTarget target, kernels::Stored type) {
  kernels::AttentionKernels<float> table = kernels::kernels_for(target).f32;
  table.absorb = kernels::cache_kernels_for(target).absorb[static_cast<std::size_t>(type)];
  table.weigh = kernels::cache_kernels_for(target).weigh[static_cast<std::size_t>(type)];
  return table;
}

PageLayout page_layout(const KvCacheOptions& o, const TilePlan& plan, const kernels::CacheKernels& kernels) {
  constexpr Index kBytes[] = {4, 2, 2, 1};
  PageLayout l;
  l.type = stored_as(o.type);
  l.order = kernels.order[static_cast<std::size_t>(l.type)];
  l.panel = l.order.panel;
  l.tile_keys = plan.tile_keys;
  l.dim = o.dim;
  l.value_dim = o.value_dim;
  l.columns = (o.value_dim + l.panel - 1) / l.panel * l.panel;
  l.element = kBytes[static_cast<std::size_t>(l.type)];
  l.kv_heads = o.kv_heads;
  l.page_keys = o.page_keys;
  const Index scales = o.type == KvType::int8 ? plan.tile_keys * static_cast<Index>(sizeof(float)) : 0;
  l.keys = l.order.parts > 1 ? kernels::kEarlyBytes : 0;
  l.values = l.keys + plan.tile_keys * l.order.whole(l.dim) * l.element;
  l.key_scales = l.values + plan.tile_keys * l.columns * l.element;
  l.value_scales = l.key_scales + scales;
  l.tile_bytes = (l.value_scales + scales + 63) / 64 * 64;
  return l;
}

KvCacheOptions completed(KvCacheOptions o, const kernels::AttentionKernels<float>& kernels) {
  check_options(o);
  if (o.value_dim == 0) o.value_dim = o.dim;
  const Index tile = tile_plan(o.dim, o.value_dim, kernels).tile_keys;
  if (o.page_keys % tile != 0) {
    refuse_option("page_keys", o.page_keys,
                  concat("a multiple of the key tile, ", tile, " for dims ", o.dim, " and ", o.value_dim));
  }
  if (o.page_keys == 0) o.page_keys = tile;
  return o;
}

// n rows of `width` elements into columns `lane` … of a panel: keys.
template <class E>
void put_columns(const std::byte* rows, int n, Index width, const kernels::PanelOrder& order, int lane,
                 std::byte* panel) {
  const auto* from = reinterpret_cast<const E*>(rows);
  auto* to = reinterpret_cast<E*>(panel);
  for (int r = 0; r < n; ++r, from += width) {
    if (order.steps == 1) {  // no division for each element
      E* column = to + order.at(0, lane + r);
      for (Index d = 0; d < width; ++d) column[d * order.panel] = from[d];
    } else {
      for (Index d = 0; d < width; ++d) to[order.at(d, lane + r)] = from[d];
    }
  }
}

// One row into row `slot` of panels that are `stride` elements apart: values.
template <class E>
void put_row(const std::byte* row, Index columns, const kernels::PanelOrder& order, Index slot, Index stride,
             std::byte* panels) {
  const auto* from = reinterpret_cast<const E*>(row);
  auto* to = reinterpret_cast<E*>(panels);
  for (Index c = 0; c < columns; c += order.panel, to += stride) {
    if (order.parts == 1) {
      std::memcpy(to + slot * order.panel, from + c, sizeof(E) * static_cast<std::size_t>(order.panel));
    } else {
      for (int i = 0; i < order.panel; ++i) to[order.at(slot, i)] = from[c + i];
    }
  }
}

// use(E{}) for the unsigned integer of `bytes` bytes.
template <class Use>
void with_element(Index bytes, const Use& use) {
  if (bytes == 4) use(std::uint32_t{});
  else if (bytes == 2) use(std::uint16_t{});
  else use(std::uint8_t{});
}

}  // namespace

CacheStore::CacheStore(const Context& ctx, const KvCacheOptions& given)
    : options(completed(given, kernels::kernels_for(ctx.target()).f32)),
      target(ctx.target()),
      cache_kernels(kernels::cache_kernels_for(target)),
      kernels(kernels_of(target, stored_as(options.type))),
      plan(tile_plan(options.dim, options.value_dim, kernels)),
      layout(page_layout(options, plan, cache_kernels)),
      pool(layout.page_bytes()),
      items(static_cast<std::size_t>(options.items)),
      lengths(static_cast<std::size_t>(options.items)),
      row_(static_cast<std::size_t>(std::max(options.dim, layout.columns))),
      narrow_(
          static_cast<std::size_t>(layout.panel * std::max(options.dim, layout.columns) * layout.element)) {
  constexpr Index kMostPage = Index{1} << 40;
  if (layout.page_bytes() > kMostPage) {
    refuse_option("page_keys", options.page_keys,
                  concat("pages of at most 2^40 bytes; this is ", layout.page_bytes()));
  }
  if (options.capacity > 0) {
    // A window needs pages for its keys, and one more: the oldest page is partly outdated while the newest is being filled.
    Index pages = layout.pages(options.capacity), total = 0;
    if (options.window > 0) pages = std::min(pages, layout.pages(options.window) + 2);
    if (__builtin_mul_overflow(pages, options.items, &total) ||
        total > (Index{1} << 50) / layout.page_bytes()) {
      refuse_option("capacity", options.capacity, "less than 2^50 bytes of pages");
    }
    pool.reserve(total, fills_pages(options.capacity));
  }
}

CallShape CacheStore::shape() const {
  CallShape shape;
  shape.batch = static_cast<Index>(items.size());
  shape.kv_heads = options.kv_heads;
  for (const Index length : lengths) shape.k_total = std::max(shape.k_total, length);
  shape.dim = options.dim;
  shape.value_dim = options.value_dim;
  return shape;
}

Index CacheStore::pages_for(Index item, Index count) const {
  const CacheItem& of = items[static_cast<std::size_t>(item)];
  const Index length = lengths[static_cast<std::size_t>(item)];
  const Index fresh = layout.pages(length + count) - of.first_page - static_cast<Index>(of.pages.size());
  const bool copy = length % layout.page_keys != 0 && of.pages.back()->users > 1;
  return std::max<Index>(0, fresh) + (copy ? 1 : 0);
}

// The next token, number `length`, sees the `window` tokens that end with itself.
void CacheStore::leave_window(Index item) noexcept {
  if (options.window == 0) return;
  CacheItem& of = items[static_cast<std::size_t>(item)];
  const Index needed = lengths[static_cast<std::size_t>(item)] - options.window + 1;
  Index gone = 0;
  const auto held = static_cast<Index>(of.pages.size());
  while (gone < held && (of.first_page + gone + 1) * layout.page_keys <= needed)
    pool.drop(of.pages[static_cast<std::size_t>(gone++)]);
  of.pages.erase(of.pages.begin(), of.pages.begin() + gone);
  of.first_page += gone;
}

// The first `keys` keys of a page. The rest is never read, and copying it would take most of the time of a
// beam search: pages have room for many more tokens than sentences have.
void CacheStore::copy_keys(const std::byte* from, std::byte* to, Index keys) const noexcept {
  const PageLayout& l = layout;
  const auto copy = [&](Index offset, Index bytes) {
    std::memcpy(to + offset, from + offset, static_cast<std::size_t>(bytes));
  };
  for (Index head = 0; head < l.kv_heads; ++head) {
    for (Index first = 0; first < keys; first += l.tile_keys) {
      const Index n = std::min<Index>(l.tile_keys, keys - first), tile = l.tile(head, first);
      const Index panels = (n + l.panel - 1) / l.panel, scales = n * static_cast<Index>(sizeof(float));
      copy(tile + l.keys, panels * l.panel * l.order.whole(l.dim) * l.element);
      for (Index c = 0; c < l.columns; c += l.panel)
        copy(tile + l.values + c * l.tile_keys * l.element, l.order.whole(n) * l.panel * l.element);
      if (l.type != kernels::Stored::int8) continue;
      copy(tile + l.key_scales, scales);
      copy(tile + l.value_scales, scales);
    }
  }
}

void CacheStore::own_last_page(CacheItem& item, Index length) noexcept {
  if (length % layout.page_keys == 0 || item.pages.back()->users == 1) return;
  Page* copy = pool.take();
  copy_keys(item.pages.back()->data, copy->data, length % layout.page_keys);
  pool.drop(item.pages.back());
  item.pages.back() = copy;
}

void CacheStore::append(Index item, ConstTensorView k, ConstTensorView v, Index batch, Index count) {
  if (count == 0) return;
  CacheItem& of = items[static_cast<std::size_t>(item)];
  Index& length = lengths[static_cast<std::size_t>(item)];
  leave_window(item);
  own_last_page(of, length);
  const Index end = layout.pages(length + count);
  while (of.first_page + static_cast<Index>(of.pages.size()) < end) of.pages.push_back(pool.take());
  write(item, k, v, batch, length, count);
  length += count;
}

void CacheStore::write(Index item, ConstTensorView k, ConstTensorView v, Index batch, Index from,
                       Index count) {
  for (Index head = 0; head < options.kv_heads; ++head) {
    for (Index done = 0; done < count;) {
      const Index at = from + done, slot = at % layout.tile_keys,
                  n = std::min(count - done, layout.tile_keys - slot);
      write_head(tile(item, head, at), static_cast<int>(slot), static_cast<int>(n),
                 row_at(k, batch, head, done), k.stride(2), row_at(v, batch, head, done), v.stride(2),
                 k.dtype());
      done += n;
    }
  }
}

void CacheStore::write_head(std::byte* tile, int slot, int n, const std::byte* k, Index k_stride,
                            const std::byte* v, Index v_stride, DType dtype) {
  const auto size = static_cast<Index>(size_of(dtype));
  const int dim = static_cast<int>(layout.dim), value_dim = static_cast<int>(layout.value_dim),
            panel = layout.panel;
  auto* key_scales = reinterpret_cast<float*>(tile + layout.key_scales);
  auto* value_scales = reinterpret_cast<float*>(tile + layout.value_scales);
  float unused = 0;
  const bool as_it_is = layout.type == kernels::Stored::f32 && dtype == DType::f32;
  const auto narrow = [&](const std::byte* source, int width, std::byte* to, float* scale) {
    if (as_it_is) {
      std::memcpy(to, source, static_cast<std::size_t>(width * layout.element));
      return;
    }
    kernels.load_row(source, dtype, width, 1.0F, row_.data());
    cache_kernels.narrow(row_.data(), width, layout.type, to, scale);
  };
  const bool scaled = layout.type == kernels::Stored::int8;
  for (int j = 0; j < n;) {
    const int at = slot + j, lane = at % panel, whole = (n - j) / panel * panel;
    std::byte* to = tile + layout.keys + (at - lane) * layout.order.whole(dim) * layout.element;
    if (lane == 0 && whole > 0 && layout.type == kernels::Stored::f32) {
      kernels.pack_keys(k + j * k_stride * size, dtype, k_stride, whole, dim, reinterpret_cast<float*>(to));
      j += whole;
      continue;
    }
    const int m = std::min(n - j, panel - lane);
    for (int r = 0; r < m; ++r) {
      narrow(k + (j + r) * k_stride * size, dim, narrow_.data() + r * dim * layout.element,
             scaled ? key_scales + at + r : &unused);
    }
    with_element(layout.element, [&](auto element) {
      put_columns<decltype(element)>(narrow_.data(), m, dim, layout.order, lane, to);
    });
    j += m;
  }
  const Index width = value_dim * layout.element;
  std::memset(narrow_.data() + width, 0, static_cast<std::size_t>(layout.columns * layout.element - width));
  for (int j = 0; j < n; ++j) {
    narrow(v + j * v_stride * size, value_dim, narrow_.data(), scaled ? value_scales + slot + j : &unused);
    with_element(layout.element, [&](auto element) {
      put_row<decltype(element)>(narrow_.data(), layout.columns, layout.order, slot + j,
                                 layout.tile_keys * panel, tile + layout.values);
    });
  }
}

void CacheStore::truncate(Index item, Index length) noexcept {
  CacheItem& of = items[static_cast<std::size_t>(item)];
  const Index keep = std::max<Index>(0, layout.pages(length) - of.first_page);
  while (static_cast<Index>(of.pages.size()) > keep) {
    pool.drop(of.pages.back());
    of.pages.pop_back();
  }
  if (length == 0) of.first_page = 0;
  lengths[static_cast<std::size_t>(item)] = length;
}

void CacheStore::share(Index from, Index to, Index length) {
  if (from == to) return truncate(from, length);
  const CacheItem& source = items[static_cast<std::size_t>(from)];
  const Index count = std::max<Index>(0, layout.pages(length) - source.first_page);
  std::vector<Page*> pages(source.pages.begin(), source.pages.begin() + count);
  for (Page* page : pages) ++page->users;
  truncate(to, 0);
  CacheItem& target_item = items[static_cast<std::size_t>(to)];
  target_item.pages = std::move(pages);
  target_item.first_page = length == 0 ? 0 : source.first_page;
  lengths[static_cast<std::size_t>(to)] = length;
}

// With the pages of `item`, all of them shared now.
void CacheStore::fork(Index item) {
  CacheItem copy = items[static_cast<std::size_t>(item)];
  lengths.reserve(lengths.size() + 1);
  items.push_back(std::move(copy));  // nothing has changed when this throws, and nothing throws after it
  lengths.push_back(lengths[static_cast<std::size_t>(item)]);
  for (Page* page : items.back().pages) ++page->users;
}

void CacheStore::drop_last_item() noexcept {
  truncate(static_cast<Index>(items.size()) - 1, 0);
  items.pop_back();
  lengths.pop_back();
}

void CacheStore::read(Index item, Range keys, const TensorView& k, const TensorView& v) const {
  const PageLayout& l = layout;
  const bool scaled = l.type == kernels::Stored::int8;
  const auto element = [&](const std::byte* base, Index at) {
    float x = 0;
    cache_kernels.widen(base + at * l.element, 1, l.type, &x);
    return static_cast<double>(x);
  };
  for (Index head = 0; head < l.kv_heads; ++head) {
    for (Index j = keys.begin; j < keys.end; ++j) {
      const std::byte* from = tile(item, head, j);
      const Index slot = j % l.tile_keys;
      const auto scale = [&](Index offset) {
        return scaled ? static_cast<double>(reinterpret_cast<const float*>(from + offset)[slot]) : 1.0;
      };
      const std::byte* panel = from + l.keys + slot / l.panel * l.panel * l.order.whole(l.dim) * l.element;
      for (Index d = 0; !k.empty() && d < l.dim; ++d) {
        const Index at = l.order.at(d, static_cast<int>(slot % l.panel));
        k.set(head, j - keys.begin, d, element(panel, at) * scale(l.key_scales));
      }
      for (Index d = 0; !v.empty() && d < l.value_dim; ++d) {
        const Index at =
            d / l.panel * l.tile_keys * l.panel + l.order.at(slot, static_cast<int>(d % l.panel));
        v.set(head, j - keys.begin, d, element(from + l.values, at) * scale(l.value_scales));
      }
    }
  }
}

}  // namespace headlight
