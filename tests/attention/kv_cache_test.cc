// What goes into a KvCache comes out again: by chunks, after rollbacks, forks and a moving window.
#include "headlight/kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <limits>

#include "support/kv_model.h"
#include "support/random.h"
#include "support/slices.h"
#include "support/targets.h"

namespace headlight::testing {
namespace {

constexpr KvType kTypes[] = {KvType::f32, KvType::f16, KvType::bf16, KvType::int8};

class Cache : public ::testing::TestWithParam<SimdTarget> {
 protected:
  Context ctx{{.threads = 1, .target = GetParam()}};
};

Tensor normal(const Shape& shape, std::uint64_t seed) {
  Tensor x(shape);
  Random random(seed);
  for (Index i = 0; i < shape.elements(); ++i) x.as<float>()[i] = static_cast<float>(random.normal());
  return x;
}

// What a cache of `type` keeps of each row.
Tensor stored(const Tensor& x, KvType type) {
  Tensor y = x.clone();
  const Index width = x.dim(3), rows = x.shape().elements() / width;
  for (Index r = 0; r < rows; ++r) {
    float* row = y.as<float>() + r * width;
    const std::vector<float> kept = stored_row({row, row + width}, type);
    std::copy(kept.begin(), kept.end(), row);
  }
  return y;
}

struct Pair {
  Tensor k, v;
};
Pair read(const KvCache& cache, Index item, Range keys) {
  const KvCacheOptions& o = cache.options();
  Pair found{Tensor({o.kv_heads, keys.size(), o.dim}), Tensor({o.kv_heads, keys.size(), o.value_dim})};
  cache.read(item, keys, found.k, found.v);
  return found;
}

// Tokens [keys) of the cache against the same tokens of item `b` of x.
void expect_holds(const KvCache& cache, Index item, Range keys, const Tensor& k, const Tensor& v,
                  Index b = 0) {
  Pair found = read(cache, item, keys);
  const auto part = [&](const Tensor& x) {
    return bits_of(sliced(sliced(x.view(), 0, b, 1), 2, keys.begin, keys.size()));
  };
  EXPECT_EQ(bits_of(found.k.view()), part(stored(k, cache.options().type)));
  EXPECT_EQ(bits_of(found.v.view()), part(stored(v, cache.options().type)));
}

ConstTensorView tokens(const Tensor& x, Index begin, Index n) { return sliced(x.view(), 2, begin, n); }

TEST_P(Cache, HoldsWhatWasAppendedInAnyChunks) {
  Random random(1);
  for (const KvType type : kTypes) {
    for (const auto& [dim, value_dim] :
         std::vector<std::pair<Index, Index>>{{1, 3}, {5, 37}, {64, 64}, {80, 48}}) {
      constexpr Index kTokens = 700;
      const Tensor k = normal({2, 3, kTokens, dim}, 1), v = normal({2, 3, kTokens, value_dim}, 2);
      KvCache cache(ctx, {.items = 2, .kv_heads = 3, .dim = dim, .value_dim = value_dim, .type = type});
      for (Index at = 0; at < kTokens;) {
        const Index n =
            std::min(kTokens - at, random.below(4) == 0 ? 1 + random.below(300) : 1 + random.below(20));
        cache.append(tokens(k, at, n), tokens(v, at, n));
        at += n;
      }
      ASSERT_EQ(cache.length(0), kTokens);
      for (const Index item : {0, 1}) expect_holds(cache, item, {0, kTokens}, k, v, item);
      expect_holds(cache, 1, {300, 301}, k, v, 1);
    }
  }
}

TEST_P(Cache, TakesSixteenBitInput) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Tensor exact = stored(stored(normal({1, 2, 70, 24}, 3), KvType::f16), KvType::bf16);
    Tensor narrow({1, 2, 70, 24}, dtype);
    for (Index h = 0; h < 2; ++h)
      for (Index t = 0; t < 70; ++t)
        for (Index d = 0; d < 24; ++d) narrow.view().set(0, h, t, d, exact.at(0, h, t, d));
    KvCache cache(ctx, {.kv_heads = 2, .dim = 24});
    cache.append(narrow, narrow);
    expect_holds(cache, 0, {0, 70}, exact, exact);
  }
}

TEST_P(Cache, ItemsGrowByTheirOwnCounts) {
  const Tensor k = normal({3, 2, 40, 16}, 4), v = normal({3, 2, 40, 16}, 5);
  KvCache cache(ctx, {.items = 3, .kv_heads = 2, .dim = 16});
  cache.append(k, v, std::vector<Index>{40, 0, 7});
  EXPECT_EQ(cache.length(0), 40);
  EXPECT_EQ(cache.length(1), 0);
  EXPECT_EQ(cache.length(2), 7);
  cache.append_to(1, sliced(k.view(), 0, 1, 1), sliced(v.view(), 0, 1, 1));
  expect_holds(cache, 0, {0, 40}, k, v, 0);
  expect_holds(cache, 1, {0, 40}, k, v, 1);
  expect_holds(cache, 2, {0, 7}, k, v, 2);
}

TEST_P(Cache, RollsBackAndGoesOn) {
  const Tensor k = normal({1, 2, 900, 32}, 6), v = normal({1, 2, 900, 32}, 7);
  const Tensor other_k = normal({1, 2, 900, 32}, 8), other_v = normal({1, 2, 900, 32}, 9);
  for (const KvType type : kTypes) {
    KvCache cache(ctx, {.kv_heads = 2, .dim = 32, .type = type});
    cache.append(other_k, other_v);
    const std::size_t full = cache.bytes();
    for (const Index keep : {520, 512, 511, 256, 3, 0}) {
      cache.truncate(0, keep);
      EXPECT_EQ(cache.length(0), keep);
    }
    EXPECT_EQ(cache.bytes(), 0U);
    cache.append(tokens(k, 0, 300), tokens(v, 0, 300));
    cache.append(tokens(other_k, 0, 200), tokens(other_v, 0, 200));
    cache.truncate(0, 300);
    cache.append(tokens(k, 300, 600), tokens(v, 300, 600));
    expect_holds(cache, 0, {0, 900}, k, v);
    EXPECT_EQ(cache.bytes(), full);
    cache.reset();
    EXPECT_EQ(cache.length(0), 0);
  }
}

TEST_P(Cache, ForksShareUntilOneSideWrites) {
  const Tensor k = normal({1, 2, 700, 32}, 10), v = normal({1, 2, 700, 32}, 11);
  const Tensor other_k = normal({1, 2, 700, 32}, 12), other_v = normal({1, 2, 700, 32}, 13);
  for (const KvType type : kTypes) {
    KvCache cache(ctx, {.kv_heads = 2, .dim = 32, .type = type});
    cache.append(tokens(k, 0, 600), tokens(v, 0, 600));
    const std::size_t before = cache.bytes(), page = before / 3;
    ASSERT_EQ(cache.fork(0), 1);
    EXPECT_EQ(cache.items(), 2);
    EXPECT_EQ(cache.length(1), 600);
    EXPECT_EQ(cache.bytes(), before);
    cache.append_to(1, tokens(other_k, 600, 100), tokens(other_v, 600, 100));  // a copy of the last page
    EXPECT_EQ(cache.bytes(), before + page);
    cache.append_to(0, tokens(k, 600, 100), tokens(v, 600, 100));
    EXPECT_EQ(cache.bytes(), before + page);
    expect_holds(cache, 0, {0, 700}, k, v);
    expect_holds(cache, 1, {0, 600}, k, v);
    expect_holds(cache, 1, {600, 700}, other_k, other_v);
    cache.share_prefix(1, 0, 610);
    expect_holds(cache, 0, {0, 600}, k, v);
    expect_holds(cache, 0, {600, 610}, other_k, other_v);
    cache.truncate(0, 100);
    cache.append_to(0, tokens(other_k, 100, 50), tokens(other_v, 100, 50));
    expect_holds(cache, 0, {100, 150}, other_k, other_v);
    expect_holds(cache, 1, {0, 600}, k, v);
    const std::size_t two = cache.bytes();
    ASSERT_EQ(cache.fork(0), 2);
    cache.append_to(2, tokens(k, 150, 50), tokens(v, 150, 50));
    cache.keep_items(2);
    EXPECT_EQ(cache.items(), 2);
    EXPECT_EQ(cache.bytes(), two);
    expect_holds(cache, 0, {100, 150}, other_k, other_v);
    cache.reset(0);
    cache.reset(1);
    EXPECT_EQ(cache.bytes(), 0U);
  }
}

TEST_P(Cache, AWindowUsesItsPagesAgain) {
  constexpr Index kTokens = 3000, kWindow = 300;
  const Tensor k = normal({1, 1, kTokens, 16}, 14), v = normal({1, 1, kTokens, 16}, 15);
  KvCache cache(ctx, {.dim = 16, .window = kWindow});
  const Index page = cache.tile_keys();
  cache.append(tokens(k, 0, 10), tokens(v, 0, 10));
  const std::size_t page_bytes = cache.bytes();
  cache.reset();
  for (Index at = 0; at < kTokens; at += 10) {
    cache.append(tokens(k, at, 10), tokens(v, at, 10));
    const Index first = cache.first_key(0);
    EXPECT_EQ(first % page, 0);
    EXPECT_LE(first, std::max<Index>(0, at - kWindow + 1));
    EXPECT_GT(first, at - kWindow - page);
    EXPECT_LE(cache.bytes(), 3 * page_bytes);
  }
  expect_holds(cache, 0, {cache.first_key(0), kTokens}, k, v);
  cache.truncate(0, kTokens - 10);  // what was appended last can always be taken back
  cache.append(tokens(k, kTokens - 10, 10), tokens(v, kTokens - 10, 10));
  expect_holds(cache, 0, {kTokens - kWindow, kTokens}, k, v);
  EXPECT_THROW(cache.truncate(0, cache.first_key(0) + kWindow - 2), Error);
  EXPECT_NO_THROW(cache.truncate(0, cache.first_key(0) + kWindow - 1));
  cache.reset(0);
  cache.append(tokens(k, 0, 20), tokens(v, 0, 20));
  expect_holds(cache, 0, {0, 20}, k, v);
}

TEST_P(Cache, LongPagesAndCapacity) {
  const Tensor k = normal({2, 1, 1500, 8}, 16), v = normal({2, 1, 1500, 8}, 17);
  KvCache cache(ctx, {.items = 2, .dim = 8, .capacity = 1500, .page_keys = 1024});
  cache.append(tokens(k, 0, 1400), tokens(v, 0, 1400));
  // All or nothing: item 1 has room, item 0 has not.
  cache.append_to(0, sliced(sliced(k.view(), 0, 0, 1), 2, 1400, 100),
                  sliced(sliced(v.view(), 0, 0, 1), 2, 1400, 100));
  EXPECT_THROW(cache.append(tokens(k, 1400, 50), tokens(v, 1400, 50)), Error);
  EXPECT_EQ(cache.length(0), 1500);
  EXPECT_EQ(cache.length(1), 1400);
  expect_holds(cache, 0, {0, 1500}, k, v, 0);
  expect_holds(cache, 1, {0, 1400}, k, v, 1);
}

TEST_P(Cache, Int8KeepsNanAndForgetsDust) {
  constexpr float kInf = std::numeric_limits<float>::infinity(),
                  kNan = std::numeric_limits<float>::quiet_NaN();
  Tensor k = normal({1, 1, 5, 4}, 18), v = k.clone();
  k.as<float>()[4] = kNan;    // token 1
  k.as<float>()[10] = -kInf;  // token 2
  for (Index d = 0; d < 4; ++d) k.as<float>()[12 + d] = 1e-30F, k.as<float>()[16 + d] = 0;
  KvCache cache(ctx, {.dim = 4, .type = KvType::int8});
  cache.append(k, v);
  Pair found = read(cache, 0, {0, 5});
  for (Index d = 0; d < 4; ++d) {
    EXPECT_TRUE(std::isfinite(found.k.at(0, 0, d)));
    EXPECT_TRUE(std::isnan(found.k.at(0, 1, d)));
    EXPECT_TRUE(std::isnan(found.k.at(0, 2, d)));
    EXPECT_EQ(found.k.at(0, 3, d), 0);
    EXPECT_EQ(found.k.at(0, 4, d), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Cache, ::testing::ValuesIn(supported_targets()), target_name);

// Every refusal: its code and its words. Each row spoils a cache of 2 items, 2 heads, dims 8 and 6.
struct Row {
  const char* name;
  std::function<void(KvCache&)> act;
  const char* code;
  const char* text;
};
void PrintTo(const Row& row, std::ostream* os) { *os << row.name; }

const Context& context() {
  static const Context ctx({.threads = 1});
  return ctx;
}
void make(const KvCacheOptions& options) { const KvCache cache(context(), options); }
ConstTensorView zeros(const Shape& shape, DType dtype = DType::f32) {
  static std::vector<double> memory(1 << 16);
  return {memory.data(), dtype, shape};
}

const Row kRows[] = {
    {"Items", [](KvCache&) { make({.items = -1, .dim = 8}); }, "kv_cache.options",
     "KvCache: items is -1; need 0 to 1048576"},
    {"Heads", [](KvCache&) { make({.kv_heads = 0, .dim = 8}); }, "kv_cache.options",
     "kv_heads is 0; need 1 to"},
    {"Dim", [](KvCache&) { make({}); }, "kv_cache.options", "dim is 0; need 1 to 65536"},
    {"Page", [](KvCache&) { make({.dim = 8, .page_keys = 100}); }, "kv_cache.options",
     "page_keys is 100; need a multiple of the key tile, 256 for dims 8 and 8"},
    {"Window", [](KvCache&) { make({.dim = 8, .window = -3}); }, "kv_cache.options", "window is -3"},
    {"Shape",
     [](KvCache& c) {
       c.append(zeros({2, 3, 1, 8}), zeros({2, 2, 1, 6}));
     },
     "kv_cache.shape", "KvCache::append: k is [2, 3, 1, 8]; need [2, 2, 1, 8]"},
    {"Rank",
     [](KvCache& c) {
       c.append(zeros({2, 1, 8}), zeros({2, 1, 6}));
     },
     "kv_cache.shape", "k is [2, 1, 8]; need [2, 2, 1, 8]"},
    {"Tokens",
     [](KvCache& c) {
       c.append(zeros({2, 2, 3, 8}), zeros({2, 2, 4, 6}));
     },
     "kv_cache.shape", "v is [2, 2, 4, 6]; need [2, 2, 3, 6]"},
    {"Dtype",
     [](KvCache& c) {
       c.append(zeros({2, 2, 3, 8}, DType::f64), zeros({2, 2, 3, 6}));
     },
     "kv_cache.dtype", "k is f64 [2, 2, 3, 8]; need f32, f16 or bf16 [2, 2, 3, 8]"},
    {"Dtypes",
     [](KvCache& c) {
       c.append(zeros({2, 2, 3, 8}), zeros({2, 2, 3, 6}, DType::f16));
     },
     "kv_cache.dtype", "v is f16 but k is f32; need both alike"},
    {"Empty", [](KvCache& c) { c.append({}, {}); }, "kv_cache.dtype", "k is empty; need"},
    {"Null",
     [](KvCache& c) {
       c.append(ConstTensorView(nullptr, DType::f32, {2, 2, 1, 8}), zeros({2, 2, 1, 6}));
     },
     "attention.null", "KvCache::append: k is f32 [2, 2, 1, 8] at a null pointer"},
    {"CountsSize",
     [](KvCache& c) {
       c.append(zeros({2, 2, 3, 8}), zeros({2, 2, 3, 6}), std::vector<Index>{1});
     },
     "kv_cache.counts", "counts has 1 entries but the cache has 2 items"},
    {"Counts",
     [](KvCache& c) {
       c.append(zeros({2, 2, 3, 8}), zeros({2, 2, 3, 6}), std::vector<Index>{1, 4});
     },
     "kv_cache.counts", "counts[1] is 4; need 0 to 3"},
    {"Capacity",
     [](KvCache& c) {
       c.append(zeros({2, 2, 30, 8}), zeros({2, 2, 30, 6}));
     },
     "kv_cache.capacity", "item 0 has 3 tokens and 30 more exceed its capacity of 32"},
    {"Item", [](KvCache& c) { (void)c.length(2); }, "kv_cache.item",
     "there is no item 2; the cache has 2, from 0 to 1"},
    {"AppendTo",
     [](KvCache& c) {
       c.append_to(-1, zeros({1, 2, 1, 8}), zeros({1, 2, 1, 6}));
     },
     "kv_cache.item", "KvCache::append_to"},
    {"Keep", [](KvCache& c) { c.keep_items(9); }, "kv_cache.item", "KvCache::keep_items: cannot keep 9 of"},
    {"Fork", [](KvCache& c) { (void)c.fork(7); }, "kv_cache.item", "KvCache::fork: there is no item 7"},
    {"Truncate", [](KvCache& c) { c.truncate(0, 4); }, "kv_cache.length",
     "item 0 has 3 tokens, and cannot be cut to 4; need 0 to 3"},
    {"Prefix", [](KvCache& c) { c.share_prefix(0, 1, -1); }, "kv_cache.length", "KvCache::share_prefix"},
    {"Read",
     [](KvCache& c) {
       c.read(0, {1, 9}, {}, {});
     },
     "kv_cache.length", "item 0 has tokens 0 to 3, not [1, 9)"},
};

class CacheRefuses : public ::testing::TestWithParam<Row> {};

TEST_P(CacheRefuses, WithCodeAndText) {
  KvCache cache(context(), {.items = 2, .kv_heads = 2, .dim = 8, .value_dim = 6, .capacity = 32});
  cache.append(zeros({2, 2, 3, 8}), zeros({2, 2, 3, 6}));
  try {
    GetParam().act(cache);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), GetParam().code) << error.what();
    EXPECT_THAT(error.what(), ::testing::HasSubstr(GetParam().text));
  }
  EXPECT_EQ(cache.length(0), 3);
  EXPECT_EQ(cache.length(1), 3);
  EXPECT_EQ(cache.items(), 2);
}

// A capacity is memory that the system has promised: more than there is is refused when the cache is made,
// not by a signal when it fills up.
TEST(KvCacheMemory, ACapacityBeyondMemoryIsRefusedAtOnce) {
  std::ifstream policy("/proc/sys/vm/overcommit_memory");
  int mode = 1;
  if (!(policy >> mode) || mode == 1) GTEST_SKIP() << "this system promises any amount of memory";
  Context ctx({.threads = 1});
  const Index tokens = (Index{1} << 45) / (2 * 4 * 4096);  // 32 TiB
  try {
    const KvCache cache(ctx, {.dim = 4096, .capacity = tokens, .page_keys = 1 << 16});
    FAIL() << "32 TiB were promised";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::resource);
    EXPECT_EQ(error.code(), "kv_cache.memory");
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, CacheRefuses, ::testing::ValuesIn(kRows),
                         [](const ::testing::TestParamInfo<Row>& which) {
                           return std::string(which.param.name);
                         });

}  // namespace
}  // namespace headlight::testing
