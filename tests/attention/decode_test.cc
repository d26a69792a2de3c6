// Decoding on a cache against attention over the same keys: the same bits for f32, f16 and bf16, the bounds
// of robustness.md 2.2 for int8; for every SIMD target and any number of threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>

#include "headlight/kv_cache.h"
#include "headlight/reference.h"
#include "support/page_edge.h"
#include "support/random.h"
#include "support/sanitizers.h"
#include "support/slices.h"
#include "support/targets.h"
#include "support/truth.h"

namespace headlight::testing {
namespace {

class Decode : public ::testing::TestWithParam<SimdTarget> {
 protected:
  Decode() {
    for (const int threads : {1, 2, 3, 7}) {
      contexts.push_back(std::make_unique<Context>(ContextOptions{.threads = threads, .target = GetParam()}));
    }
  }
  std::vector<std::unique_ptr<Context>> contexts;
  Context& ctx() { return *contexts.front(); }
};

Tensor normal(const Shape& shape, std::uint64_t seed) {
  Tensor x(shape);
  Random random(seed);
  for (Index i = 0; i < shape.elements(); ++i) x.as<float>()[i] = static_cast<float>(random.normal());
  return x;
}

// The same bits, or NaN in both: which NaN an operation on two of them returns is up to the compiler.
::testing::AssertionResult same(const ConstTensorView& a, const ConstTensorView& b) {
  const std::vector<std::uint8_t> x = bits_of(a), y = bits_of(b);
  if (x.size() != y.size())
    return ::testing::AssertionFailure() << x.size() << " and " << y.size() << " bytes";
  const std::size_t size = size_of(a.dtype());
  for (std::size_t i = 0; i < x.size(); i += size) {
    if (std::memcmp(&x[i], &y[i], size) == 0) continue;
    const double u = ConstTensorView(&x[i], a.dtype(), {1}).at(0),
                 w = ConstTensorView(&y[i], a.dtype(), {1}).at(0);
    if (!std::isnan(u) || !std::isnan(w))
      return ::testing::AssertionFailure() << "element " << i / size << ": " << u << " and " << w;
  }
  return ::testing::AssertionSuccess();
}

Answer decode(Context& ctx, const ConstTensorView& q, const KvCache& cache, const AttentionOptions& options) {
  Answer a{Tensor({q.dim(0), q.dim(1), q.dim(2), cache.options().value_dim}, q.dtype()),
           Tensor({q.dim(0), q.dim(1), q.dim(2)})};
  attention_decode(ctx, q, cache, options, a.out, a.lse);
  return a;
}

KvType type_of(DType dtype) {
  return dtype == DType::f16 ? KvType::f16 : dtype == DType::bf16 ? KvType::bf16 : KvType::f32;
}

// Every option, layout and kind of data that the forward is tested with.
TEST_P(Decode, RandomCallsHaveTheBitsOfForward) {
  Random random(1);
  int run = 0;
  for (std::uint64_t seed = 90'000; run < repeats(300); ++seed) {
    const Case c = random_case(seed);
    if (c.ragged == Ragged::packed || c.dtype == DType::f64) continue;
    ++run;
    const Instance x(c);
    const Call call = call_of(x);
    const Answer expected = answer(ctx(), call);
    std::vector<Index> counts(static_cast<std::size_t>(c.batch), c.k_len);
    if (!call.options.k_lengths.empty())
      counts.assign(call.options.k_lengths.begin(), call.options.k_lengths.end());
    Index longest = 0;
    for (const Index n : counts) longest = std::max(longest, n);
    AttentionOptions options = call.options;
    options.k_lengths = {};
    options.mask = sliced_broadcast(options.mask, 3, 0, longest);
    options.bias = sliced_broadcast(options.bias, 3, 0, longest);
    const KvType type = random.below(3) == 0 ? KvType::f32 : type_of(c.dtype);
    KvCache cache(
        ctx(),
        {.items = c.batch, .kv_heads = c.kv_heads, .dim = c.dim, .value_dim = c.value_dim, .type = type});
    cache.append(call.k, call.v, counts);
    for (const auto& other : contexts) {
      const Answer found = decode(*other, call.q, cache, options);
      ASSERT_TRUE(same(found.out, expected.out)) << other->threads() << " threads " << describe(c);
      ASSERT_TRUE(same(found.lse, expected.lse)) << other->threads() << " threads " << describe(c);
      if (longest != c.k_len || c.data == Data::mixed_inf) continue;
      const Results forward(x, c.dtype, true), cached(x, c.dtype, true);
      attention_forward(*other, x.q.view(), x.k.view(), x.v.view(), x.options, forward.views());
      attention_decode(*other, x.q.view(), cache, options, cached.views());
      ASSERT_TRUE(cached.same_bits(forward))
          << "statistics, " << other->threads() << " threads " << describe(c);
      ASSERT_TRUE(cached.gaps_intact());
    }
  }
}

struct Shapes {
  Index heads, kv_heads, dim, value_dim;
};

// Append a chunk, attend with it, and so on: each chunk has its rows of the whole causal forward.
TEST_P(Decode, ChunkByChunkIsTheFullForward) {
  Random random(2);
  for (const Shapes& s :
       {Shapes{4, 2, 64, 64}, Shapes{3, 1, 20, 7}, Shapes{2, 2, 128, 128}, Shapes{8, 2, 160, 144}}) {
    constexpr Index kLength = kSanitized ? 1100 : 2300;
    const Tensor q = normal({1, s.heads, kLength, s.dim}, 3), k = normal({1, s.kv_heads, kLength, s.dim}, 4),
                 v = normal({1, s.kv_heads, kLength, s.value_dim}, 5), sinks = normal({s.heads}, 6),
                 slopes = normal({s.heads}, 7);
    for (int variant = 0; variant < 3; ++variant) {
      AttentionOptions options{.visible = variant == 1 ? Visibility::window(700) : Visibility::causal()};
      if (variant == 1) options.softcap = 20, options.sinks = sinks;
      if (variant == 2) options.alibi_slopes = slopes, options.visible = Visibility::prefix_lm(0);
      const Answer whole = answer(*contexts[1], {q, k, v, options});
      KvCache cache(
          ctx(),
          {.kv_heads = s.kv_heads, .dim = s.dim, .value_dim = s.value_dim, .window = variant == 1 ? 700 : 0});
      for (Index at = 0; at < kLength;) {
        const Index kinds[] = {1, 1 + random.below(16), 1 + random.below(400)};
        const Index n = std::min(kLength - at, kinds[random.below(at < 1500 ? 3 : 2)]);
        cache.append(sliced(k.view(), 2, at, n), sliced(v.view(), 2, at, n));
        if (at < 1500 || random.below(4) == 0) {
          const Answer found = decode(*contexts[static_cast<std::size_t>(random.below(4))],
                                      sliced(q.view(), 2, at, n), cache, options);
          ASSERT_TRUE(same(found.out, sliced(whole.out.view(), 2, at, n)))
              << at << "+" << n << " dim " << s.dim << " variant " << variant;
          ASSERT_TRUE(same(found.lse, sliced(whole.lse.view(), 2, at, n)))
              << at << "+" << n << " dim " << s.dim << " variant " << variant;
        }
        at += n;
      }
    }
  }
}

// Wrong guesses are rolled back, and a fork goes its own way: both leave no trace in the bits.
TEST_P(Decode, RollbackAndForkLeaveNoTrace) {
  constexpr Index kLength = 1300, kHeads = 4;
  const Tensor q = normal({1, kHeads, kLength, 48}, 8), k = normal({1, 2, kLength, 48}, 9),
               v = normal({1, 2, kLength, 48}, 10);
  Tensor wrong = normal({1, 2, 16, 48}, 11);
  wrong.as<float>()[5] = std::nanf("");
  const AttentionOptions options{.visible = Visibility::causal()};
  const Answer whole = answer(ctx(), {q, k, v, options});
  KvCache cache(ctx(), {.kv_heads = 2, .dim = 48});
  cache.append(sliced(k.view(), 2, 0, 1250), sliced(v.view(), 2, 0, 1250));
  for (Index at = 1250; at < kLength; ++at) {
    cache.append(wrong, wrong);
    cache.truncate(0, at);
    cache.append(sliced(k.view(), 2, at, 1), sliced(v.view(), 2, at, 1));
    const Answer found = decode(*contexts[1], sliced(q.view(), 2, at, 1), cache, options);
    ASSERT_TRUE(same(found.out, sliced(whole.out.view(), 2, at, 1))) << at;
  }
  ASSERT_EQ(cache.fork(0), 1);
  cache.append_to(1, wrong, wrong);
  Tensor two({2, kHeads, 1, 48});
  for (Index b = 0; b < 2; ++b)
    for (Index h = 0; h < kHeads; ++h)
      for (Index d = 0; d < 48; ++d) two.view().set(b, h, 0, d, q.at(0, h, kLength - 1, d));
  const Answer both = decode(*contexts[1], two, cache, options);
  EXPECT_TRUE(same(sliced(both.out.view(), 0, 0, 1), sliced(whole.out.view(), 2, kLength - 1, 1)));
  EXPECT_TRUE(std::isnan(both.out.at(1, 0, 0, 0)));
}

// A batch of sequences of any length: each as if it were alone. One has no keys at all.
TEST_P(Decode, SequencesOfDifferentLength) {
  const std::vector<Index> lengths = {1, 0, 100, 1024, 1025, 2600, 17};
  const auto items = static_cast<Index>(lengths.size());
  for (const KvType type : {KvType::f32, KvType::f16, KvType::bf16, KvType::int8}) {
    for (const Index queries : {1, 5}) {
      const Tensor q = normal({items, 6, queries, 40}, 12);
      KvCache cache(ctx(), {.items = items, .kv_heads = 2, .dim = 40, .value_dim = 24, .type = type});
      std::vector<Tensor> keys, values;
      for (Index i = 0; i < items; ++i) {
        keys.push_back(
            normal({1, 2, lengths[static_cast<std::size_t>(i)], 40}, 100 + static_cast<std::uint64_t>(i)));
        values.push_back(
            normal({1, 2, lengths[static_cast<std::size_t>(i)], 24}, 200 + static_cast<std::uint64_t>(i)));
        cache.append_to(i, keys.back(), values.back());
      }
      const AttentionOptions options{.visible = Visibility::causal()};
      const Answer all = decode(ctx(), q, cache, options);
      for (const auto& other : contexts) {
        const Answer again = decode(*other, q, cache, options);
        ASSERT_TRUE(same(again.out, all.out)) << other->threads() << " threads " << name_of(type);
        ASSERT_TRUE(same(again.lse, all.lse)) << other->threads() << " threads " << name_of(type);
      }
      for (Index i = 0; i < items; ++i) {
        KvCache alone(ctx(), {.kv_heads = 2, .dim = 40, .value_dim = 24, .type = type});
        alone.append(keys[static_cast<std::size_t>(i)], values[static_cast<std::size_t>(i)]);
        const Answer one = decode(ctx(), sliced(q.view(), 0, i, 1), alone, options);
        EXPECT_TRUE(same(one.out, sliced(all.out.view(), 0, i, 1))) << "item " << i << " " << name_of(type);
        if (type != KvType::f32) continue;
        const Answer plain = answer(ctx(), {sliced(q.view(), 0, i, 1), keys[static_cast<std::size_t>(i)],
                                            values[static_cast<std::size_t>(i)], options});
        EXPECT_TRUE(same(plain.out, one.out)) << "item " << i;
      }
    }
  }
}

// The scaled error of robustness.md 2.1, of f32 arithmetic on the keys and values that are stored.
double worst_error(const KvCache& cache, const ConstTensorView& q, const AttentionOptions& options,
                   const Answer& found) {
  const KvCacheOptions& o = cache.options();
  const Index length = cache.length(0);
  Tensor k({1, o.kv_heads, length, o.dim}, DType::f64), v({1, o.kv_heads, length, o.value_dim}, DType::f64);
  cache.read(0, {0, length}, TensorView(k.as<double>(), {o.kv_heads, length, o.dim}),
             TensorView(v.as<double>(), {o.kv_heads, length, o.value_dim}));
  return accuracy::Exact(q, k, v, options, DType::f32).scaled_error(found.out);
}

TEST_P(Decode, NarrowCachesStayWithinTheBound) {
  for (const KvType type : {KvType::f16, KvType::bf16, KvType::int8}) {
    for (const Shapes& s :
         {Shapes{8, 2, 128, 128}, Shapes{3, 3, 5, 37}, Shapes{7, 1, 80, 20}, Shapes{16, 2, 64, 64}}) {
      for (const double size : {1.0, 10.0, 1e-3}) {
        const Index length = size == 1.0 ? 1500 : 333;
        Tensor q = normal({1, s.heads, 2, s.dim}, 13), k = normal({1, s.kv_heads, length, s.dim}, 14),
               v = normal({1, s.kv_heads, length, s.value_dim}, 15);
        for (Index n = 0; n < q.view().shape().elements(); ++n) q.as<float>()[n] *= static_cast<float>(size);
        for (Index n = 0; n < k.view().shape().elements(); n += 97)
          k.as<float>()[n] *= 3;  // outliers: most of a row is small
        KvCache cache(ctx(), {.kv_heads = s.kv_heads, .dim = s.dim, .value_dim = s.value_dim, .type = type});
        cache.append(k, v);
        const AttentionOptions options{.visible = Visibility::window(length - 3)};
        const Answer found = decode(*contexts[1], q, cache, options);
        EXPECT_LE(worst_error(cache, q, options, found), 4)
            << name_of(type) << " dim " << s.dim << " q × " << size;
      }
    }
  }
}

// Tensors at the edge of a page that cannot be touched: no byte outside them is read or written.
TEST_P(Decode, NothingOutsideATensorIsTouched) {
  for (const KvType type : {KvType::f32, KvType::f16, KvType::bf16, KvType::int8}) {
    for (const auto& [dim, value_dim] : std::vector<std::pair<Index, Index>>{{1, 1}, {5, 37}, {64, 48}}) {
      const Tensor q = normal({1, 4, 3, dim}, 21), k = normal({1, 2, 77, dim}, 22),
                   v = normal({1, 2, 77, value_dim}, 23);
      const AttentionOptions options{.visible = Visibility::causal()};
      KvCache cache(ctx(), {.kv_heads = 2, .dim = dim, .value_dim = value_dim, .type = type});
      cache.append(k, v);
      const Answer expected = decode(ctx(), q, cache, options);
      for (const bool at_end : {true, false}) {
        const AtPageEdge there_q(q, at_end), there_k(k, at_end), there_v(v, at_end),
            out(expected.out, at_end), lse(expected.lse, at_end);
        KvCache other(ctx(), cache.options());
        other.append(there_k.view, there_v.view);
        attention_decode(ctx(), there_q.view, other, options, out.view, lse.view);
        ASSERT_EQ(bits_of(out.view), bits_of(expected.out)) << name_of(type) << " dim " << dim;
        ASSERT_EQ(bits_of(lse.view), bits_of(expected.lse)) << name_of(type) << " dim " << dim;
      }
    }
  }
}

// A NaN that one of two neighbouring queries sees does not change a bit of the other.
TEST_P(Decode, HiddenNanStaysHidden) {
  for (const KvType type : {KvType::f32, KvType::f16, KvType::bf16, KvType::int8}) {
    const Tensor q = normal({1, 4, 3, 32}, 16), k = normal({1, 2, 1100, 32}, 17);
    Tensor v = normal({1, 2, 1100, 32}, 18);
    const AttentionOptions options{.visible = Visibility::causal()};
    const auto run = [&](Context& where) {
      KvCache cache(ctx(), {.kv_heads = 2, .dim = 32, .type = type});
      cache.append(k, v);
      return decode(where, q, cache, options);
    };
    const Answer before = run(ctx());
    for (Index h = 0; h < 2; ++h)
      v.view().set(0, h, 1098, 3, std::nan(""));  // the second query is the first to see it
    for (const auto& other : contexts) {
      const Answer after = run(*other);
      EXPECT_TRUE(same(sliced(after.out.view(), 2, 0, 1), sliced(before.out.view(), 2, 0, 1)))
          << name_of(type);
      for (const Index i : {1, 2}) EXPECT_TRUE(std::isnan(after.out.at(0, 0, i, 3))) << name_of(type);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Decode, ::testing::ValuesIn(supported_targets()), target_name);

// Refusals: each row spoils one thing of a call on 2 items, 4:2 heads, dims 8 and 6, 5 tokens.
struct DecodeCall {
  Context ctx{{.threads = 1}};
  KvCache cache{ctx, {.items = 2, .kv_heads = 2, .dim = 8, .value_dim = 6}};
  Tensor k{{2, 2, 5, 8}}, v{{2, 2, 5, 6}}, memory{{4096}};
  ConstTensorView q{memory.as<float>(), {2, 4, 3, 8}};
  TensorView out{memory.as<float>() + 1024, {2, 4, 3, 6}}, lse{memory.as<float>() + 2048, {2, 4, 3}};
  AttentionOptions options;
  Index lengths[2] = {1, 2};

  DecodeCall() { cache.append(k, v); }
  void run() { attention_decode(ctx, q, cache, options, out, lse); }
};

struct DecodeRow {
  const char* name;
  std::function<void(DecodeCall&)> spoil;
  const char* code;
  const char* text;
};
void PrintTo(const DecodeRow& row, std::ostream* os) { *os << row.name; }

const DecodeRow kRows[] = {
    {"Batch",
     [](DecodeCall& c) {
       c.q = {c.memory.as<float>(), {3, 4, 3, 8}};
     },
     "kv_cache.batch", "attention_decode: q has batch 3 but the cache has 2 items"},
    {"Dtype",
     [](DecodeCall& c) {
       c.q = {c.memory.as<double>(), {2, 4, 3, 8}};
     },
     "kv_cache.dtype", "q is f64; need f32, f16 or bf16"},
    {"Dim",
     [](DecodeCall& c) {
       c.q = {c.memory.as<float>(), {2, 4, 3, 9}};
     },
     "attention.dim", "k has dim 8 but q has 9"},
    {"Heads",
     [](DecodeCall& c) {
       c.q = {c.memory.as<float>(), {2, 3, 3, 8}};
     },
     "attention.heads", "k has 2 heads but q has 3"},
    {"Rank",
     [](DecodeCall& c) {
       c.q = {c.memory.as<float>(), {4, 3, 8}};
     },
     "attention.rank", "q has rank 3"},
    {"Out",
     [](DecodeCall& c) {
       c.out = {c.memory.as<float>() + 1024, {2, 4, 3, 8}};
     },
     "attention.output", "need f32 [2, 4, 3, 6]"},
    {"Overlap",
     [](DecodeCall& c) {
       c.out = {c.memory.as<float>() + 20, {2, 4, 3, 6}};
     },
     "attention.overlap", "out overlaps q"},
    {"Lengths", [](DecodeCall& c) { c.options.k_lengths = c.lengths; }, "kv_cache.lengths",
     "the cache stores the lengths of its items"},
    {"Starts", [](DecodeCall& c) { c.options.q_starts = c.lengths; }, "kv_cache.lengths", "starts are given"},
    {"Dropout", [](DecodeCall& c) { c.options.dropout.rate = 0.1; }, "kv_cache.dropout",
     "dropout.rate is 0.1; need 0"},
    {"Mask",
     [](DecodeCall& c) {
       c.options.mask = {c.memory.as<float>(), DType::boolean, {3, 6}};
     },
     "attention.mask", "broadcasts to [2, 4, 3, 5]"},
    {"Window",
     [](DecodeCall& c) {
       c.cache = KvCache(c.ctx, {.items = 2, .kv_heads = 2, .dim = 8, .value_dim = 6, .window = 4});
       for (int n = 0; n < 60; ++n) c.cache.append(c.k, c.v);
     },
     "kv_cache.window",
     "query 0 of item 0 sees key 0, but the cache's window of 4 has dropped all before 256; need "
     "visible.left of at most 3"},
};

class DecodeRefuses : public ::testing::TestWithParam<DecodeRow> {};

TEST_P(DecodeRefuses, WithCodeAndText) {
  DecodeCall call;
  ASSERT_NO_THROW(call.run());
  GetParam().spoil(call);
  try {
    call.run();
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), GetParam().code) << error.what();
    EXPECT_THAT(error.what(), ::testing::StartsWith("attention_decode: "));
    EXPECT_THAT(error.what(), ::testing::HasSubstr(GetParam().text));
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, DecodeRefuses, ::testing::ValuesIn(kRows),
                         [](const ::testing::TestParamInfo<DecodeRow>& which) {
                           return std::string(which.param.name);
                         });

TEST(DecodeTarget, MustBeTheCaches) {
  if (supported_targets().size() < 2) GTEST_SKIP() << "one target only";
  Context best({.threads = 1}), other({.threads = 1, .target = SimdTarget::scalar});
  KvCache cache(best, {.dim = 8});
  Tensor q({1, 1, 1, 8}), out({1, 1, 1, 8});
  EXPECT_THAT([&] { attention_decode(other, q, cache, {}, out); },
              ::testing::ThrowsMessage<Error>(
                  ::testing::HasSubstr("but the Context runs scalar; make both with the same target")));
}

}  // namespace
}  // namespace headlight::testing
