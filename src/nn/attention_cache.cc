// Attention of new tokens with the cached keys and values of earlier ones.
#include <optional>

#include "nn/attention.h"
#include "nn/drive.h"

namespace headlight::nn {
namespace {

// Keys and values of all items end to end, for an observer, because caches store them in pages.
struct Unpaged {
  Tensor k, v;
  std::vector<Index> starts = {0};

  explicit Unpaged(const KvCache& cache) {
    for (Index i = 0; i < cache.items(); ++i) starts.push_back(starts.back() + cache.length(i));
    const Index heads = cache.options().kv_heads, dim = cache.options().dim, total = starts.back();
    const Index value_dim = cache.options().value_dim > 0 ? cache.options().value_dim : dim;
    k = Tensor({1, heads, total, dim}), v = Tensor({1, heads, total, value_dim});
    for (Index i = 0; i < cache.items(); ++i) {
      // Keys outside the window stay zero: no remaining query can see them.
      const Index first = cache.first_key(i), length = cache.length(i);
      const Index at = starts[static_cast<std::size_t>(i)] + first;
      const auto part = [&](Tensor& all, Index size) {
        return TensorView(all.as<float>() + at * size, DType::f32, {heads, length - first, size},
                          {total * size, size, 1});
      };
      cache.read(i, {first, length}, part(k, dim), part(v, value_dim));
    }
  }
};

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::usage, "nn.cache", concat("attention with a cache: ", message));
}

void append_sequences(KvCache& cache, const TensorView& k, const TensorView& v,
                      std::span<const Index> starts) {
  const auto part = [](const TensorView& x, Index first, Index count) {
    return TensorView(x.as<float>() + first * x.stride(0), x.dtype(), {1, x.dim(1), count, x.dim(2)},
                      {count * x.stride(0), x.stride(1), x.stride(0), 1});
  };
  for (std::size_t s = 0; s + 1 < starts.size(); ++s) {
    const Index first = starts[s], count = starts[s + 1] - first;
    cache.append_to(static_cast<Index>(s), part(k, first, count), part(v, first, count));
  }
}

}  // namespace

KvCache MultiHeadAttention::make_cache(const Context& ctx, Index items, KvType type) const {
  KvCacheOptions options;
  options.items = items;
  options.kv_heads = config_.kv_heads;
  options.dim = config_.head_dim;
  options.value_dim = config_.value_dim();
  options.type = type;
  if (config_.visible.left < Visibility::kUnbounded) options.window = config_.visible.left + 1;
  return KvCache(ctx, options);
}

void MultiHeadAttention::decode(Context& ctx, ConstTensorView x, const Heads& h, const AttentionCall& call,
                                Saved& s) const {
  KvCache& cache = *call.cache;
  const Index items = static_cast<Index>(call.starts.size()) - 1, tokens = h.q.dim(0);
  if (h.q.dtype() != DType::f32) refuse("the model is f64, a cache computes in f32");
  if (cache.items() != items) refuse(concat("it holds ", cache.items(), " sequences, the call has ", items));
  if (items == 0) return;
  bool fresh = true;
  for (Index i = 0; i < items; ++i) fresh = fresh && cache.length(i) == 0;
  if (fresh) {
    attend(ctx, x, h, call, s);
    append_sequences(cache, h.k, h.v, config_.cross ? call.memory_starts : call.starts);
    return;
  }
  const Index each = tokens / items;
  for (Index i = 0; i <= items; ++i) {
    if (call.starts[static_cast<std::size_t>(i)] != i * each)
      refuse(
          "sequences have different numbers of new tokens; append the same number to each, or start with an "
          "empty cache");
  }
  if (!config_.cross) cache.append(item_heads(h.k, items), item_heads(h.v, items));
  AttentionOptions o = options(call);
  const TensorView z = split_heads(s.mixed.view(), config_.heads);
  std::vector<Index> k_starts = {0};
  if (call.intervention != nullptr) {
    for (Index i = 0; i < items; ++i) k_starts.push_back(k_starts.back() + cache.length(i));
    o.mask = call.intervention->mask(
        {config_.part, call.layer, config_.heads, call.positions, call.starts, k_starts});
  }
  const TensorView lse(s.lse.view().data(), DType::f32, {items, config_.heads, each}, {each, tokens, 1});
  attention_decode(ctx, item_heads(h.q, items), cache, o, item_heads(z, items), lse);
  if (call.observer == nullptr && call.intervention == nullptr) return;
  std::optional<Unpaged> all;
  ConstTensorView k, v;
  if (call.observer != nullptr || call.intervention->reads_keys()) {
    all.emplace(cache);
    k = all->k;
    v = all->v;
    k_starts = all->starts;
  }
  AttentionOptions seen = o;
  seen.q_starts = call.starts;
  seen.k_starts = k_starts;
  const AttentionEvent event{ctx, call.layer, config_.part, packed_heads(h.q), k, v, s.lse, seen,
                             x,   {},         call.stream,  call.positions};
  if (call.observer != nullptr) call.observer->on_attention(event);
  if (call.intervention != nullptr) call.intervention->on_heads(event, z);
}

}  // namespace headlight::nn
