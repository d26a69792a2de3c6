#include "headlight/kv_cache.h"

#include "attention/cache_store.h"
#include "attention/view_checks.h"
#include "core/concat.h"
#include "core/float_mode.h"

namespace headlight {
namespace {

// f32, f16 or bf16 [batch, kv_head, token, dim] with a contiguous last axis.
void check_rows(Argument at, const ConstTensorView& x, const Shape& wanted) {
  const bool known = x.dtype() == DType::f32 || x.dtype() == DType::f16 || x.dtype() == DType::bf16;
  if (x.empty() || !known) {
    refuse(ErrorKind::input, "kv_cache.dtype",
           concat(at.who, ": ", at.name, " is ", x.empty() ? "empty" : described(x),
                  "; need f32, f16 or bf16 ", wanted.text()));
  }
  if (x.shape() != wanted) {
    refuse(ErrorKind::input, "kv_cache.shape",
           concat(at.who, ": ", at.name, " is ", x.shape().text(), "; need ", wanted.text()));
  }
  static_cast<void>(checked_bytes(at, x));
  check_last_stride(at, x);
}

void check_pair(const char* who, const KvCacheOptions& o, Index batch, const ConstTensorView& k,
                const ConstTensorView& v) {
  const Index tokens = k.rank() == 4 ? k.dim(2) : 1;
  check_rows({who, "k"}, k, {batch, o.kv_heads, tokens, o.dim});
  check_rows({who, "v"}, v, {batch, o.kv_heads, tokens, o.value_dim});
  if (v.dtype() != k.dtype()) {
    refuse(ErrorKind::input, "kv_cache.dtype",
           concat(who, ": v is ", name_of(v.dtype()), " but k is ", name_of(k.dtype()), "; need both alike"));
  }
}

void check_room(const char* who, const CacheStore& store, Index item, Index count) {
  const Index capacity = store.options.capacity, length = store.lengths[static_cast<std::size_t>(item)];
  if (capacity == 0 || length + count <= capacity) return;
  refuse(ErrorKind::resource, "kv_cache.capacity",
         concat(who, ": item ", item, " has ", length, " tokens and ", count, " more exceed its capacity of ",
                capacity,
                "; truncate it, or create the cache with a larger capacity, or with 0 to let it grow"));
}

void check_item(const char* who, const CacheStore& store, Index item) {
  const auto items = static_cast<Index>(store.items.size());
  if (item >= 0 && item < items) return;
  refuse(ErrorKind::usage, "kv_cache.item",
         concat(who, ": there is no item ", item, "; the cache has ", items, ", from 0 to ", items - 1));
}

// Whether `item` may be cut to `length`: the keys that its next token sees through the window must still be stored.
void check_end(const char* who, const CacheStore& store, Index item, Index length) {
  const Index now = store.lengths[static_cast<std::size_t>(item)], first = store.first_key(item);
  if (length < 0 || length > now) {
    refuse(ErrorKind::usage, "kv_cache.length",
           concat(who, ": item ", item, " has ", now, " tokens, and cannot be cut to ", length,
                  "; need 0 to ", now));
  }
  if (first == 0 || length - store.options.window + 1 >= first) return;
  refuse(ErrorKind::usage, "kv_cache.window",
         concat(who, ": item ", item, " cannot go back to ", length, " tokens, as its window of ",
                store.options.window, " has dropped all before ", first, "; need ",
                first + store.options.window - 1, " or more, or reset()"));
}

}  // namespace

std::string_view name_of(KvType type) noexcept {
  constexpr std::string_view kNames[] = {"f32", "f16", "bf16", "int8"};
  return kNames[static_cast<std::size_t>(type)];
}

KvCache::KvCache(const Context& ctx, const KvCacheOptions& options)
    : store_(std::make_unique<CacheStore>(ctx, options)) {}
KvCache::~KvCache() = default;
KvCache::KvCache(KvCache&&) noexcept = default;
KvCache& KvCache::operator=(KvCache&&) noexcept = default;

const KvCacheOptions& KvCache::options() const noexcept { return store_->options; }
SimdTarget KvCache::target() const noexcept { return store_->target; }
Index KvCache::tile_keys() const noexcept { return store_->plan.tile_keys; }
Index KvCache::items() const noexcept { return static_cast<Index>(store_->items.size()); }

Index KvCache::length(Index item) const {
  check_item("KvCache::length", *store_, item);
  return store_->lengths[static_cast<std::size_t>(item)];
}

Index KvCache::first_key(Index item) const {
  check_item("KvCache::first_key", *store_, item);
  return store_->first_key(item);
}

std::size_t KvCache::bytes() const noexcept {
  return static_cast<std::size_t>(store_->pool.in_use() * store_->layout.page_bytes());
}

void KvCache::append(ConstTensorView k, ConstTensorView v, std::span<const Index> counts) {
  constexpr const char* kWho = "KvCache::append";
  check_pair(kWho, store_->options, items(), k, v);
  if (!counts.empty() && static_cast<Index>(counts.size()) != items()) {
    refuse(ErrorKind::input, "kv_cache.counts",
           concat(kWho, ": counts has ", counts.size(), " entries but the cache has ", items(),
                  " items; need one each"));
  }
  const auto count_of = [&](Index item) {
    return counts.empty() ? k.dim(2) : counts[static_cast<std::size_t>(item)];
  };
  Index pages = 0, longest = 0;
  for (Index item = 0; item < items(); ++item) {
    const Index count = count_of(item);
    if (count < 0 || count > k.dim(2)) {
      refuse(ErrorKind::input, "kv_cache.counts",
             concat(kWho, ": counts[", item, "] is ", count, "; need 0 to ", k.dim(2),
                    ", the tokens of axis 2"));
    }
    check_room(kWho, *store_, item, count);
    pages += store_->pages_for(item, count);
    longest = std::max(longest, length(item) + count);
  }
  store_->pool.reserve(pages, store_->fills_pages(longest));
  for (Index item = 0; item < items(); ++item) store_->make_room(item, count_of(item));
  const DefaultFloatMode float_mode;
  for (Index item = 0; item < items(); ++item) store_->append(item, k, v, item, count_of(item));
}

void KvCache::append_to(Index item, ConstTensorView k, ConstTensorView v) {
  constexpr const char* kWho = "KvCache::append_to";
  check_item(kWho, *store_, item);
  check_pair(kWho, store_->options, 1, k, v);
  check_room(kWho, *store_, item, k.dim(2));
  store_->pool.reserve(store_->pages_for(item, k.dim(2)), store_->fills_pages(length(item) + k.dim(2)));
  store_->make_room(item, k.dim(2));
  const DefaultFloatMode float_mode;
  store_->append(item, k, v, 0, k.dim(2));
}

void KvCache::truncate(Index item, Index length) {
  check_item("KvCache::truncate", *store_, item);
  check_end("KvCache::truncate", *store_, item, length);
  store_->truncate(item, length);
}

Index KvCache::fork(Index item) {
  check_item("KvCache::fork", *store_, item);
  store_->fork(item);
  return items() - 1;
}

void KvCache::share_prefix(Index from, Index to, Index length) {
  check_item("KvCache::share_prefix", *store_, from);
  check_item("KvCache::share_prefix", *store_, to);
  check_end("KvCache::share_prefix", *store_, from, length);
  store_->share(from, to, length);
}

void KvCache::keep_items(Index count) {
  if (count < 0 || count > items()) {
    refuse(
        ErrorKind::usage, "kv_cache.item",
        concat("KvCache::keep_items: cannot keep ", count, " of ", items(), " items; need 0 to ", items()));
  }
  while (items() > count) store_->drop_last_item();
}

void KvCache::reset(Index item) {
  check_item("KvCache::reset", *store_, item);
  store_->truncate(item, 0);
}

void KvCache::reset() {
  for (Index item = 0; item < items(); ++item) store_->truncate(item, 0);
}

void KvCache::read(Index item, Range keys, TensorView k, TensorView v) const {
  constexpr const char* kWho = "KvCache::read";
  check_item(kWho, *store_, item);
  const CacheStore& s = *store_;
  if (keys.begin < s.first_key(item) || keys.end < keys.begin || keys.end > length(item)) {
    refuse(ErrorKind::usage, "kv_cache.length",
           concat(kWho, ": item ", item, " has tokens ", s.first_key(item), " to ", length(item), ", not [",
                  keys.begin, ", ", keys.end, ")"));
  }
  const auto check = [&](const char* name, const TensorView& view, Index width) {
    const Shape wanted{s.options.kv_heads, keys.size(), width};
    if (view.shape() == wanted && (view.dtype() == DType::f32 || view.dtype() == DType::f64)) {
      static_cast<void>(checked_bytes({kWho, name}, view));
      return;
    }
    refuse(ErrorKind::input, "kv_cache.shape",
           concat(kWho, ": ", name, " is ", described(view), "; need f32 or f64 ", wanted.text()));
  };
  if (!k.empty()) check("k", k, s.options.dim);
  if (!v.empty()) check("v", v, s.options.value_dim);
  const DefaultFloatMode float_mode;
  s.read(item, keys, k, v);
}

}  // namespace headlight
