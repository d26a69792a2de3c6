// A caller with an odd floating-point mode gets the bits that everyone gets, and its mode back.
#include "core/float_mode.h"

#include <gtest/gtest.h>

#include "headlight/attention.h"
#include "headlight/kv_cache.h"
#include "support/random.h"

#if defined(__x86_64__)

namespace headlight::testing {
namespace {

constexpr unsigned kFlush = 0x8040;  // flush to zero, denormals are zero
constexpr unsigned kFlags = 0x3F;
constexpr unsigned kModes[] = {0x1F80, 0x1F80 | kFlush, 0x1F80 | 0x2000, 0x1F80 | 0x4000,
                               0x1F80 | 0x6000 | kFlush};

class WithMode {
 public:
  explicit WithMode(unsigned mode) : saved_(_mm_getcsr()) { _mm_setcsr(mode); }
  ~WithMode() { _mm_setcsr(saved_); }
  WithMode(const WithMode&) = delete;
  WithMode& operator=(const WithMode&) = delete;

 private:
  unsigned saved_;
};

TEST(FloatMode, IsSetAndPutBack) {
  for (const unsigned mode : kModes) {
    const WithMode caller(mode);
    {
      const DefaultFloatMode ours;
      EXPECT_EQ(_mm_getcsr() & ~kFlags, 0x1F80U);
    }
    EXPECT_EQ(_mm_getcsr() & ~kFlags, mode);
  }
}

// Flags that the caller has not read yet are not ours to clear.
TEST(FloatMode, KeepsTheCallersFlags) {
  for (const unsigned mode : kModes) {
    const WithMode caller(mode | 0x04);  // a division by zero happened
    { const DefaultFloatMode ours; }
    EXPECT_EQ(_mm_getcsr(), mode | 0x04);
  }
}

// Everything that a call can write, from numbers with denormals among them.
struct Everything {
  DType type;
  Tensor out{{2, 2, 40, 24}, type}, lse{{2, 2, 40}, type}, max{{2, 2, 40}, type}, entropy{{2, 2, 40}, type};
  Tensor received{{2, 2, 300}, type}, weights{{40, 300}, type}, map{{5, 7}, type};
  Tensor merged{{2, 2, 40, 24}, type}, merged_lse{{2, 2, 40}, type};

  explicit Everything(DType t) : type(t) {}
  [[nodiscard]] std::vector<std::byte> bits() {
    std::vector<std::byte> all;
    for (Tensor* x : {&out, &lse, &max, &entropy, &received, &weights, &map, &merged, &merged_lse}) {
      const Index bytes = x->shape().elements() * static_cast<Index>(size_of(type));
      all.insert(all.end(), x->as<std::byte>(), x->as<std::byte>() + bytes);
    }
    return all;
  }
};

void expect_same_bits(DType type, int threads) {
  Random random(1);
  Tensor q({2, 2, 40, 7}, type), k({2, 2, 300, 7}, type), v({2, 2, 300, 24}, type);
  for (Tensor* x : {&q, &k, &v}) {
    const TensorView flat(x->as<std::byte>(), type, {x->shape().elements()});
    for (Index i = 0; i < flat.dim(0); ++i) {
      flat.set(i, random.normal() * (x == &v && i % 3 == 0 ? type == DType::f32 ? 1e-39 : 1e-309 : 1));
    }
  }
  Context ctx({.threads = threads});
  const auto compute = [&] {
    Everything all(type);
    const AttentionOptions options{.visible = Visibility::causal(), .softcap = 5};
    attention_forward(
        ctx, q, k, v, options,
        {.out = all.out, .lse = all.lse, .max = all.max, .entropy = all.entropy, .received = all.received});
    const WeightSlice slice{.batch = 1, .head = 1, .queries = {0, 40}, .keys = {0, 300}};
    attention_weights(ctx, q, k, all.lse, options, slice, all.weights);
    attention_heat_map(ctx, q, k, all.lse, options, slice, Pool::mean, all.map);
    all.merged = all.out.clone();
    all.merged_lse = all.lse.clone();
    merge(all.merged, all.merged_lse, all.out, all.lse);
    return all.bits();
  };
  const std::vector<std::byte> expected = compute();
  for (const unsigned mode : kModes) {
    std::vector<std::byte> found;
    unsigned after = 0;
    {
      const WithMode caller(mode);
      found = compute();
      after = _mm_getcsr();
    }
    EXPECT_TRUE(found == expected) << name_of(type) << ", mode " << std::hex << mode << ", " << threads
                                   << " threads";
    EXPECT_EQ(after & ~kFlags, mode);
  }
}

TEST(FloatMode, AttentionGivesTheSameBits) {
  for (const DType type : {DType::f32, DType::f64}) {
    for (const int threads : {1, 3}) expect_same_bits(type, threads);
  }
}

// The bits of every gradient, and of decoding from a cache that was filled in that mode.
std::vector<std::byte> train_and_decode(int threads) {
  Random random(2);
  Tensor q({1, 2, 40, 7}), k({1, 2, 300, 7}), v({1, 2, 300, 24}), dout({1, 2, 40, 24}), out({1, 2, 40, 24}),
      lse({1, 2, 40}), dq({1, 2, 40, 7}), dk({1, 2, 300, 7}), dv({1, 2, 300, 24});
  {
    const DefaultFloatMode ours;  // the numbers themselves are not the question
    for (Tensor* x : {&q, &k, &v, &dout}) {
      for (Index i = 0; i < x->shape().elements(); ++i)
        x->as<float>()[i] = static_cast<float>(random.normal() * (i % 3 == 0 ? 1e-39 : 1));
    }
  }
  Context ctx({.threads = threads});
  const AttentionOptions options{.visible = Visibility::causal()};
  std::vector<std::byte> all;
  const auto keep = [&](const Tensor& x) {
    all.insert(all.end(), x.as<std::byte>(), x.as<std::byte>() + x.shape().elements() * 4);
  };
  attention_forward(ctx, q, k, v, options, out, lse);
  attention_backward(ctx, {q, k, v, out, lse}, dout, options, {dq, dk, dv});
  for (const Tensor* x : {&out, &lse, &dq, &dk, &dv}) keep(*x);
  for (const KvType type : {KvType::f32, KvType::f16, KvType::bf16, KvType::int8}) {
    KvCache cache(ctx, {.kv_heads = 2, .dim = 7, .value_dim = 24, .type = type});
    cache.append(k, v);
    cache.read(0, {0, 300}, TensorView(dk.as<float>(), {2, 300, 7}),
               TensorView(dv.as<float>(), {2, 300, 24}));
    attention_decode(ctx, q, cache, options, out, lse);
    for (const Tensor* x : {&out, &lse, &dk, &dv}) keep(*x);
  }
  return all;
}

TEST(FloatMode, GradientsAndDecodingGiveTheSameBits) {
  for (const int threads : {1, 3}) {
    const std::vector<std::byte> expected = train_and_decode(threads);
    for (const unsigned mode : kModes) {
      const WithMode caller(mode);
      const std::vector<std::byte> found = train_and_decode(threads);
      EXPECT_EQ(_mm_getcsr() & ~kFlags, mode);
      EXPECT_TRUE(found == expected) << "mode " << std::hex << mode << ", " << threads << " threads";
    }
  }
}

// Also when the call is refused.
TEST(FloatMode, SurvivesAnError) {
  const WithMode caller(0x1F80 | kFlush);
  const Tensor q({1, 3, 4, 8}), k({1, 2, 4, 8});
  EXPECT_THROW((void)attention(q, k, k), Error);
  EXPECT_EQ(_mm_getcsr() & ~kFlags, 0x1F80 | kFlush);
}

}  // namespace
}  // namespace headlight::testing

#endif
