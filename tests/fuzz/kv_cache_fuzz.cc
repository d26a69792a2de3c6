// Operations on a KvCache, good and bad, against plain lists: it holds the same tokens, decodes to the bits of
// the full forward call on them, and refuses what it must without changing.
#include <map>
#include <memory>

#include "fuzz/bytes.h"
#include "headlight/error.h"
#include "support/kv_model.h"

namespace headlight::testing {
namespace {

Context& context(SimdTarget target, int threads) {
  static std::map<std::pair<SimdTarget, int>, std::unique_ptr<Context>> made;
  auto& ctx = made[{target, threads}];
  if (!ctx) ctx = std::make_unique<Context>(ContextOptions{.threads = threads, .target = target});
  return *ctx;
}

class Session {
 public:
  Session(Bytes& bytes, Context& ctx, const KvCacheOptions& options)
      : bytes_(bytes), ctx_(ctx), cache_(ctx, options), o_(cache_.options()), model_(o_) {}

  void run() {
    for (int step = 0; step < 24 && !bytes_.empty(); ++step) {
      try {
        act();
      } catch (const Error& error) {
        check_message(error.what());
        if (error.code().rfind("kv_cache.", 0) != 0) fail(error.code() + " " + error.what());
      }
      check_lengths();
    }
    for (Index item = 0; item < model_.items(); ++item) check_contents(item);
    decode();
    cache_.reset();
    if (cache_.bytes() != 0) fail("pages in use after reset");
  }

 private:
  // Mostly an item that exists.
  Index item() { return bytes_.below(8) == 0 ? bytes_.any() : bytes_.below(model_.items()); }
  // Mostly a length that is possible.
  Index length_for(Index item) {
    const bool known = item >= 0 && item < model_.items();
    return !known || bytes_.below(8) == 0 ? bytes_.any() : bytes_.below(model_.length(item) + 1);
  }

  void act() {
    switch (bytes_.below(8)) {
      case 0:
      case 1: return append();
      case 2:
      case 3: return append_to(item());
      case 4: {
        const Index which = item(), length = length_for(which);
        cache_.truncate(which, length);
        model_.at(which).resize(static_cast<std::size_t>(length));
        return;
      }
      case 5: {
        if (model_.items() >= 6) return;
        const Index which = item();
        if (cache_.fork(which) != model_.items()) fail("fork returns another item");
        return model_.fork(which);
      }
      case 6: {
        const Index from = item(), to = item(), length = length_for(from);
        cache_.share_prefix(from, to, length);
        return model_.share_prefix(from, to, length);
      }
      default: {
        const Index which = item();
        cache_.reset(which);
        return model_.at(which).clear();
      }
    }
  }

  // Numbers that tell tokens apart; zeros and large ones among them.
  float number() {
    static constexpr float kOdd[] = {0, -0.0F, 1e-30F, 6e4F, -1, 0x1p-14F, 3, 1};
    const float noise = static_cast<float>(++counter_ * 2654435761U >> 8) * 0x1p-24F - 0.5F;
    return counter_ % 13 == 0 ? kOdd[counter_ / 13 % 8] : noise;
  }
  KvModel::Token token() {
    KvModel::Token t;
    for (Index h = 0; h < o_.kv_heads; ++h) {
      t.k.emplace_back(static_cast<std::size_t>(o_.dim));
      t.v.emplace_back(static_cast<std::size_t>(o_.value_dim));
      for (float& x : t.k.back()) x = number();
      for (float& x : t.v.back()) x = number();
    }
    return t;
  }

  struct Chunk {
    std::vector<KvModel::Tokens> tokens;  // by batch item
    Tensor k, v;
  };
  Chunk chunk(Index batch, Index count) {
    Chunk c{
        {}, Tensor({batch, o_.kv_heads, count, o_.dim}), Tensor({batch, o_.kv_heads, count, o_.value_dim})};
    for (Index b = 0; b < batch; ++b) {
      KvModel::Tokens& list = c.tokens.emplace_back();
      for (Index t = 0; t < count; ++t) {
        list.push_back(token());
        for (Index h = 0; h < o_.kv_heads; ++h) {
          const auto& k = list.back().k[static_cast<std::size_t>(h)];
          const auto& v = list.back().v[static_cast<std::size_t>(h)];
          for (Index d = 0; d < o_.dim; ++d) c.k.view().set(b, h, t, d, k[static_cast<std::size_t>(d)]);
          for (Index d = 0; d < o_.value_dim; ++d) c.v.view().set(b, h, t, d, v[static_cast<std::size_t>(d)]);
        }
      }
    }
    return c;
  }
  Index count() { return bytes_.below(4) == 0 ? bytes_.below(300) : bytes_.below(9); }

  void append() {
    const Chunk c = chunk(model_.items(), count());
    std::vector<Index> counts;
    if (bytes_.below(2) == 0) {
      for (Index i = 0; i < model_.items(); ++i)
        counts.push_back(bytes_.below(16) == 0 ? bytes_.any() : bytes_.below(c.k.dim(2) + 1));
    }
    cache_.append(c.k, c.v, counts);
    for (Index i = 0; i < model_.items(); ++i) {
      const auto& list = c.tokens[static_cast<std::size_t>(i)];
      const Index taken = counts.empty() ? c.k.dim(2) : counts[static_cast<std::size_t>(i)];
      model_.at(i).insert(model_.at(i).end(), list.begin(), list.begin() + taken);
    }
  }
  void append_to(Index which) {
    const Chunk c = chunk(1, count());
    cache_.append_to(which, c.k, c.v);
    model_.at(which).insert(model_.at(which).end(), c.tokens[0].begin(), c.tokens[0].end());
  }

  void check_lengths() {
    if (cache_.items() != model_.items()) fail("another number of items");
    for (Index i = 0; i < model_.items(); ++i) {
      const Index length = cache_.length(i), first = cache_.first_key(i);
      if (length != model_.length(i)) fail("another length");
      if (first < 0 || first > length) fail("first_key outside");
      if (first > std::max<Index>(0, length - o_.window + 1) || (o_.window == 0 && first > 0))
        fail("the window lost what it needs");
    }
  }

  void check_contents(Index item) {
    const Index first = cache_.first_key(item), n = cache_.length(item) - first;
    Tensor k({o_.kv_heads, n, o_.dim}), v({o_.kv_heads, n, o_.value_dim});
    cache_.read(item, {first, first + n}, k, v);
    for (Index t = 0; t < n; ++t)
      for (Index h = 0; h < o_.kv_heads; ++h) {
        const KvModel::Token& token = model_.at(item)[static_cast<std::size_t>(first + t)];
        const auto same = [&](const Tensor& found, const std::vector<float>& row, Index width) {
          const std::vector<float> wanted = stored_row(row, o_.type);
          for (Index d = 0; d < width; ++d)
            if (found.at(h, t, d) != static_cast<double>(wanted[static_cast<std::size_t>(d)]))
              fail("item " + std::to_string(item) + " token " + std::to_string(first + t) + " is another");
        };
        same(k, token.k[static_cast<std::size_t>(h)], o_.dim);
        same(v, token.v[static_cast<std::size_t>(h)], o_.value_dim);
      }
  }

  // The newest tokens attend; an f32 cache gives the bits of the full forward call on the same keys.
  void decode() {
    const Index group = 1 + bytes_.below(3), queries = 1 + bytes_.below(5), heads = o_.kv_heads * group;
    AttentionOptions options{.visible = Visibility::causal()};
    if (o_.window > 0) options.visible = Visibility::window(std::max<Index>(1, o_.window - queries + 1));
    Tensor q({model_.items(), heads, queries, o_.dim}), out({model_.items(), heads, queries, o_.value_dim}),
        lse({model_.items(), heads, queries});
    for (Index n = 0; n < q.shape().elements(); ++n) q.as<float>()[n] = number();
    try {
      attention_decode(ctx_, q, cache_, options, out, lse);
    } catch (const Error& error) {
      // Queries older than all that a ring has kept: the only reason left to refuse.
      if (error.code() != "kv_cache.window") fail(error.what());
      return;
    }
    if (o_.type != KvType::f32) return;
    for (Index i = 0; i < model_.items(); ++i) {
      const Index length = model_.length(i), per_row = heads * queries;
      const Tensor k = model_.keys(i, 0, length), v = model_.values(i, 0, length);
      const ConstTensorView own(q.as<float>() + i * per_row * o_.dim, {1, heads, queries, o_.dim});
      Tensor full({1, heads, queries, o_.value_dim}), full_lse({1, heads, queries});
      attention_forward(ctx_, own, k, v, options, full, full_lse);
      const auto bytes = static_cast<std::size_t>(per_row) * sizeof(float);
      if (std::memcmp(full_lse.as<float>(), lse.as<float>() + i * per_row, bytes) != 0 ||
          std::memcmp(full.as<float>(), out.as<float>() + i * per_row * o_.value_dim,
                      bytes * static_cast<std::size_t>(o_.value_dim)) != 0)
        fail("decoding item " + std::to_string(i) + " differs from the full forward call");
    }
  }

  Bytes& bytes_;
  Context& ctx_;
  KvCache cache_;
  const KvCacheOptions o_;
  KvModel model_;
  std::uint32_t counter_ = 0;
};

}  // namespace
}  // namespace headlight::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headlight;
  testing::Bytes bytes(data, size);
  static const std::vector<SimdTarget> targets = supported_targets();
  const SimdTarget target =
      targets[static_cast<std::size_t>(bytes.below(static_cast<Index>(targets.size())))];
  Context& ctx = testing::context(target, 1 + static_cast<int>(bytes.below(3)));
  constexpr Index kWindows[] = {0, 0, 1, 7, 100, 300};
  KvCacheOptions options{.items = 1 + bytes.below(3),
                         .kv_heads = 1 + bytes.below(3),
                         .dim = 1 + bytes.below(24),
                         .value_dim = bytes.below(24),
                         .type = static_cast<KvType>(bytes.below(4)),
                         .window = kWindows[bytes.below(6)]};
  if (bytes.below(4) == 0) options.capacity = bytes.below(700);
  try {
    testing::Session(bytes, ctx, options).run();
  } catch (const Error& error) {
    testing::fail(error.what());  // the options are good, and bad operations are caught one by one
  }
  return 0;
}
