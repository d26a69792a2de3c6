// The register tile of strip-inl.h with a right-hand side that is stored narrower than f32 and widened on
// the way into the register. The order of every sum is the same, so f32 gives the same bits.

#if defined(HEADLIGHT_KERNELS_STORED_STRIP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_STORED_STRIP_INL_H_
#undef HEADLIGHT_KERNELS_STORED_STRIP_INL_H_
#else
#define HEADLIGHT_KERNELS_STORED_STRIP_INL_H_
#endif

#include "headlight/tensor.h"
#include "hwy/highway.h"
#include "kernels/pack-inl.h"
#include "kernels/strip-inl.h"

#ifndef HEADLIGHT_PREFETCH
#define HEADLIGHT_PREFETCH 2
#endif
#ifndef HEADLIGHT_AHEAD
#define HEADLIGHT_AHEAD 8192
#endif

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

HWY_INLINE FloatVec load_stored(const float* from) { return hn::LoadU(FloatTag(), from); }

HWY_INLINE FloatVec load_stored(const F16* from) {
#if HWY_TARGET == HWY_AVX3
  return hn::Vec<FloatTag>{_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)))};
#elif HWY_TARGET == HWY_AVX2
  return hn::Vec<FloatTag>{_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)))};
#else
  // As widen_f16 in pack-inl.h, for whole vectors.
  const FloatTag d;
  const hn::RebindToUnsigned<FloatTag> du;
  const hn::Rebind<std::uint16_t, FloatTag> dh;
  const auto bits = hn::PromoteTo(du, hn::LoadU(dh, reinterpret_cast<const std::uint16_t*>(from)));
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7FFFU));
  const auto shifted = hn::ShiftLeft<13>(magnitude);
  const auto scaled = hn::BitCast(du, hn::Mul(hn::BitCast(d, shifted), hn::Set(d, 0x1p112f)));
  const auto special = hn::Or(hn::Set(du, 0x7F800000U), shifted);
  const auto sign = hn::ShiftLeft<16>(hn::AndNot(hn::Set(du, 0x7FFFU), bits));
  const auto is_special = hn::Gt(hn::BitCast(hn::RebindToSigned<FloatTag>(), magnitude),
                                 hn::Set(hn::RebindToSigned<FloatTag>(), 0x7BFF));
  const auto chosen = hn::IfThenElse(hn::RebindMask(du, is_special), special, scaled);
  return hn::BitCast(d, hn::Or(chosen, sign));
#endif
}

HWY_INLINE FloatVec load_stored(const BF16* from) {
  const hn::RebindToUnsigned<FloatTag> du;
  const hn::Rebind<std::uint16_t, FloatTag> dh;
  const auto bits = hn::PromoteTo(du, hn::LoadU(dh, reinterpret_cast<const std::uint16_t*>(from)));
  return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(bits));
}

HWY_INLINE FloatVec load_stored(const std::int8_t* from) {
  const hn::RebindToSigned<FloatTag> di;
  const hn::Rebind<std::int8_t, FloatTag> db;
  return hn::ConvertTo(FloatTag(), hn::PromoteTo(di, hn::LoadU(db, from)));
}

template <class S>
struct StoredArgs {
  int depth;
  const float* a;  // [rows][a_stride], broadcast one by one
  Index a_stride;
  const S* b;  // [depth][2 · lanes]
  float* c;    // [rows][c_stride]
  Index c_stride;
  const float* alpha;      // per row; only for accumulate
  const std::byte* ahead;  // what to fetch meanwhile: as many bytes as b has
};

// c = a·b, or c = c·alpha + a·b with the product started from zero.
template <class S, int kRows, int kVectors, bool kAccumulate>
HWY_NOINLINE HWY_ATTR void multiply_stored(const StoredArgs<S>& args) {
  const FloatTag d;
  using V = FloatVec;
  const int lanes = static_cast<int>(hn::Lanes(d)), panel = 2 * lanes;
  V sum[kRows][kVectors];
  const float* row[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    row[r] = args.a + r * args.a_stride;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  const S* b = args.b;
  float* c = args.c;
  const float* alpha = args.alpha;
  const std::byte* ahead = args.ahead;
  const Index c_stride = args.c_stride, depth = args.depth;
  const auto step = [&](Index k) HWY_ATTR {
    V right[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) right[v] = load_stored(b + v * lanes);
    b += panel;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const V x = hn::Set(d, row[r][k]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(x, right[v], sum[r][v]);
    }
  };
  constexpr int kUnroll = 4, kLine = 64;
  const int bytes = kUnroll * panel * static_cast<int>(sizeof(S));
  Index k = 0;
  for (; k + kUnroll <= depth; k += kUnroll) {
    for (int line = 0; line < bytes; line += kLine) __builtin_prefetch(ahead + line, 0, HEADLIGHT_PREFETCH);
    ahead += bytes;
#pragma GCC unroll 4
    for (int u = 0; u < kUnroll; ++u) step(k + u);
  }
  for (; k < depth; ++k) step(k);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      float* to = c + r * c_stride + v * lanes;
      if constexpr (kAccumulate) sum[r][v] = hn::MulAdd(hn::LoadU(d, to), hn::Set(d, alpha[r]), sum[r][v]);
      hn::StoreU(sum[r][v], d, to);
    }
  }
}

template <class S, bool kAccumulate>
HWY_INLINE void multiply_stored_strip(int rows, int vectors, const StoredArgs<S>& args) {
  using Fn = void (*)(const StoredArgs<S>&);
  static constexpr Fn kTable[8][2] = {
      {multiply_stored<S, 1, 1, kAccumulate>, multiply_stored<S, 1, 2, kAccumulate>},
      {multiply_stored<S, 2, 1, kAccumulate>, multiply_stored<S, 2, 2, kAccumulate>},
      {multiply_stored<S, 3, 1, kAccumulate>, multiply_stored<S, 3, 2, kAccumulate>},
      {multiply_stored<S, 4, 1, kAccumulate>, multiply_stored<S, 4, 2, kAccumulate>},
      {multiply_stored<S, 5, 1, kAccumulate>, multiply_stored<S, 5, 2, kAccumulate>},
      {multiply_stored<S, 6, 1, kAccumulate>, multiply_stored<S, 6, 2, kAccumulate>},
      {multiply_stored<S, 7, 1, kAccumulate>, multiply_stored<S, 7, 2, kAccumulate>},
      {multiply_stored<S, 8, 1, kAccumulate>, multiply_stored<S, 8, 2, kAccumulate>}};
  kTable[rows - 1][vectors - 1](args);
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
