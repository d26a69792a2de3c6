// Operations on the types of block_codes-inl.h: conversion to floats, and integer products with a row of x that is
// rounded to 8 bits, with a factor for each 32 elements. An element of x is off by at most 1/254 of the largest of its 32.

#if defined(HEADLIGHT_KERNELS_BLOCK_DOTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_BLOCK_DOTS_INL_H_
#undef HEADLIGHT_KERNELS_BLOCK_DOTS_INL_H_
#else
#define HEADLIGHT_KERNELS_BLOCK_DOTS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "kernels/block_codes-inl.h"
#include "kernels/stored_rows.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// ---- To floats ----------------------------------------------------------------------------------------

// One part of a row, exactly as the format defines it: src/core/block_formats.cc.
template <StoredType kType, int kPart>
HWY_INLINE void widen_part(const std::byte* blocks, const float* scale, const float* minimum, float* to) {
  using B = Blocks<kType>;
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> d32;
  using Code = std::conditional_t<B::kSigned, std::int8_t, std::uint8_t>;
  const hn::Rebind<Code, decltype(d)> d8;
  HWY_ALIGN std::uint8_t codes[kPartColumns];
  for (int first = 0; first < kPartColumns; first += kCodes)
    hn::Store(B::template codes<kPart>(blocks, first), Codes(), codes + first);
#pragma GCC unroll 8
  for (int i = 0; i < kPartColumns; i += static_cast<int>(hn::Lanes(d))) {
    auto code = hn::PromoteTo(d32, hn::LoadU(d8, reinterpret_cast<const Code*>(codes) + i));
    if constexpr (B::kOffset != 0) code = hn::Sub(code, hn::Set(d32, B::kOffset));
    const int at = kPart * B::kScales + i * B::kScales / kPartColumns;
    auto x = hn::Mul(hn::Set(d, scale[at]), hn::ConvertTo(d, code));
    if constexpr (B::kMinima) x = hn::Sub(x, hn::Set(d, minimum[at]));
    hn::StoreU(x, d, to + i);
  }
}

// Elements [first, first + n) of a row, both multiples of 32.
template <StoredType kType>
HWY_NOINLINE HWY_ATTR void widen_blocks(const std::byte* row, Index first, Index n, float* to) {
  using B = Blocks<kType>;
  constexpr Index kTogether = kMostParts * kPartColumns;
  HWY_ALIGN float scale[2 * kMostParts], minimum[2 * kMostParts];
  while (n > 0) {
    // Blocks with one part are processed from the first requested one on; the others as a whole.
    const Index begin = B::kColumns == kPartColumns ? first : first / kTogether * kTogether;
    const int from = static_cast<int>((first - begin) / kPartColumns);
    const int end = static_cast<int>(std::min(kTogether, first - begin + n) / kPartColumns);
    const std::byte* blocks = row + begin / B::kColumns * B::kBytes;
    B::factors(blocks, end, scale, minimum);
    each_part(end, [&]<int kPart>() HWY_ATTR {
      if (kPart < from) return;
      widen_part<kType, kPart>(blocks, scale, minimum, to);
      to += kPartColumns;
    });
    const Index done = Index{end - from} * kPartColumns;
    first += done, n -= done;
  }
}

// ---- Rounded rows of x --------------------------------------------------------------------------------

// A row of x in 8 bits, a copy with the parts of each 128 elements in the order 0, 2, 1, 3 (block_wide-inl.h), and for each
// 32 and each 16 elements the factor and factor · sum of the numbers: 2 3/4 bytes per element, in the space of a float.
struct ByteRow {
  std::int8_t *numbers = nullptr, *paired = nullptr;
  float *factors[2] = {}, *sums[2] = {};  // of 32 elements, of 16
  ByteRow() = default;
  HWY_INLINE ByteRow(float* arranged, Index depth)
      : numbers(reinterpret_cast<std::int8_t*>(arranged)), paired(numbers + depth) {
    auto* rest = reinterpret_cast<float*>(paired + depth);
    for (int i = 0; i < 2; ++i) {
      const Index count = depth / kPartColumns * (i + 1);
      factors[i] = rest, sums[i] = rest + count;
      rest += 2 * count;
    }
  }
};

// A number that is not finite makes its factor NaN, and with it every sum that uses the factor.
HWY_ATTR inline void round_to_bytes(const float* x, Index depth, float* to) {
  constexpr float kLargest = 127, kSmallest = 1e-30F;  // below, 1 / x would be infinite
  const hn::CappedTag<float, 8> d;
  const hn::Rebind<std::int8_t, decltype(d)> d8;
  constexpr int kStep = static_cast<int>(hn::MaxLanes(decltype(d)()));
  const ByteRow row(to, depth);
  for (Index part = 0; part < depth / kPartColumns; ++part, x += kPartColumns) {
    auto most = hn::Set(d, kSmallest), poison = hn::Zero(d);
    for (int i = 0; i < kPartColumns; i += kStep) {
      const auto v = hn::LoadU(d, x + i);
      most = hn::Max(most, hn::Abs(v));
      poison = hn::MulAdd(v, hn::Zero(d), poison);
    }
    const float bad = hn::GetLane(hn::SumOfLanes(d, poison));
    const float largest = bad == 0 ? hn::GetLane(hn::MaxOfLanes(d, most)) : 1;
    const float inverse = bad == 0 ? kLargest / largest : 0, factor = largest / kLargest + bad;
    row.factors[0][part] = row.factors[1][2 * part] = row.factors[1][2 * part + 1] = factor;
    std::int8_t* numbers = row.numbers + part * kPartColumns;
    for (int half = 0; half < 2; ++half) {
      std::int32_t sum = 0;
      for (int i = 16 * half; i < 16 * half + 16; i += kStep) {
        const auto v = bad == 0 ? hn::LoadU(d, x + i) : hn::Zero(d);
        hn::StoreU(hn::DemoteTo(d8, hn::NearestInt(hn::Mul(v, hn::Set(d, inverse)))), d8, numbers + i);
      }
      for (int i = 16 * half; i < 16 * half + 16; ++i) sum += numbers[i];
      row.sums[1][2 * part + half] = factor * static_cast<float>(sum);
    }
    std::int32_t sum = 0;
    for (int i = 0; i < kPartColumns; ++i) sum += numbers[i];
    row.sums[0][part] = factor * static_cast<float>(sum);
    constexpr Index kPlaces[] = {0, 2, 1, 3};
    if (part / 4 * 4 + 4 <= depth / kPartColumns)
      std::memcpy(row.paired + (part / 4 * 4 + kPlaces[part % 4]) * kPartColumns, numbers, kPartColumns);
  }
}

// Bytes between a block and the prefetch issued with it. At the speed of memory, several KB are on their way at any time, and
// hardware prefetchers stop at the end of a page: 1 KB was a quarter slower, 4 KB a tenth, 12 KB the same.
inline constexpr Index kBlocksAhead = 8192;

// ---- Products in integers -----------------------------------------------------------------------------

using BlockSums = hn::Repartition<float, Codes>;
using BlockSumsVec = hn::Vec<BlockSums>;
using IntegerSumsVec = hn::Vec<hn::RebindToSigned<BlockSums>>;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
// Whether the CPU adds products of bytes in one instruction (VNNI), in the encoding of this target.
inline bool has_byte_products() {
#if HWY_TARGET == HWY_AVX3
  return __builtin_cpu_supports("avx512vnni") != 0;
#else
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & (1U << 4)) != 0;
#endif
}
#endif

// The products of codes and numbers, four neighbours to a lane, added to `sum`. Codes are below 128, so that two products
// fit 16 bits.
template <bool kSigned, bool kVnni>
HWY_INLINE IntegerSumsVec add_products(CodesVec codes, const std::int8_t* x, IntegerSumsVec sum) {
  const hn::RebindToSigned<Codes> d;
  auto numbers = hn::LoadU(d, x);
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  __m256i w = codes.raw, y = numbers.raw;
  if constexpr (kSigned) y = _mm256_sign_epi8(y, w), w = _mm256_abs_epi8(w);
  if constexpr (kVnni) {
    // Inline assembly, because the target does not guarantee the instruction: block_rows.cc asks the CPU.
#if HWY_TARGET == HWY_AVX3
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(w), "v"(y));
#else
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum.raw) : "x"(w), "x"(y));
#endif
  } else {
    sum.raw = _mm256_add_epi32(sum.raw, _mm256_madd_epi16(_mm256_maddubs_epi16(w, y), _mm256_set1_epi16(1)));
  }
  return sum;
#elif HWY_TARGET == HWY_SSE4
  __m128i w = codes.raw, y = numbers.raw;
  if constexpr (kSigned) y = _mm_sign_epi8(y, w), w = _mm_abs_epi8(w);
  sum.raw = _mm_add_epi32(sum.raw, _mm_madd_epi16(_mm_maddubs_epi16(w, y), _mm_set1_epi16(1)));
  return sum;
#elif defined(__ARM_FEATURE_DOTPROD)
  sum.raw = vdotq_s32(sum.raw, hn::BitCast(d, codes).raw, numbers.raw);
  return sum;
#else
  const hn::RepartitionToWide<decltype(d)> d16;
  const hn::RebindToSigned<BlockSums> d32;
  const hn::Half<decltype(d)> half;
  const auto w = hn::BitCast(d, codes);
  auto more = hn::Zero(d32);
  sum = hn::ReorderWidenMulAccumulate(d32, hn::PromoteTo(d16, hn::LowerHalf(half, w)),
                                      hn::PromoteTo(d16, hn::LowerHalf(half, numbers)), sum, more);
  sum = hn::ReorderWidenMulAccumulate(d32, hn::PromoteTo(d16, hn::UpperHalf(half, w)),
                                      hn::PromoteTo(d16, hn::UpperHalf(half, numbers)), sum, more);
  return hn::Add(sum, more);
#endif
}

// Sums of a row of w with a row of x. Four chains, so that one addition need not wait for the last.
inline constexpr int kChains = 4;
struct RowSums {
  // An implicit one is not compiled for the target, and NEON's vectors have one to inline.
  HWY_INLINE RowSums() {}
  BlockSumsVec of[kChains];
};

// Up to eight parts: exact sums in integers, then the factors of both sides at once; minima are multiplied with the sums of x.
template <StoredType kType, bool kVnni, int kRows, bool kWhole>
HWY_INLINE void add_parts(const std::byte* blocks, const ByteRow* x, Index part, int some, RowSums* sums) {
  using B = Blocks<kType>;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(BlockSums())), kFactors = kMostParts * B::kScales;
  const BlockSums d;
  const hn::RebindToSigned<BlockSums> d32;
  const int parts = kWhole ? kMostParts : some;
  HWY_ALIGN float scale[kFactors], minimum[kFactors], both[kRows][kFactors], padded[2][kFactors];
  if constexpr (!kWhole) {
    std::fill_n(scale, kFactors, 0.0F);
    std::fill_n(minimum, kFactors, 0.0F);
    std::fill_n(padded[0], 2 * kFactors, 0.0F);
  }
  B::factors(blocks, parts, scale, minimum);
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r) {
    const float* factors = x[r].factors[B::kScales - 1] + part * B::kScales;
    const float* of_x = x[r].sums[B::kScales - 1] + part * B::kScales;
    if constexpr (!kWhole) {
      factors = std::copy_n(factors, parts * B::kScales, padded[0]) - parts * B::kScales;
      of_x = std::copy_n(of_x, parts * B::kScales, padded[1]) - parts * B::kScales;
    }
#pragma GCC unroll 4
    for (int i = 0; i < kFactors; i += kLanes) {
      const auto s = hn::Load(d, scale + i);
      hn::Store(hn::Mul(s, hn::LoadU(d, factors + i)), d, both[r] + i);
      auto& sum = sums[r].of[i / kLanes % kChains];
      if constexpr (B::kMinima) sum = hn::NegMulAdd(hn::Load(d, minimum + i), hn::LoadU(d, of_x + i), sum);
      if constexpr (B::kOffset != 0)
        sum = hn::NegMulAdd(hn::Mul(s, hn::Set(d, float{B::kOffset})), hn::LoadU(d, of_x + i), sum);
    }
  }
  each_part(parts, [&]<int kPart>() HWY_ATTR {
    IntegerSumsVec exact[kRows];
#pragma GCC unroll 2
    for (int first = 0; first < kPartColumns; first += kCodes) {
      const CodesVec codes = B::template codes<kPart>(blocks, first);
#pragma GCC unroll 2
      for (int r = 0; r < kRows; ++r) {
        const bool begins = first == 0 || B::kScales == 2;
        exact[r] = add_products<B::kSigned, kVnni>(
            codes, x[r].numbers + (part + kPart) * kPartColumns + first, begins ? hn::Zero(d32) : exact[r]);
        if (B::kScales == 1 && first + kCodes < kPartColumns) continue;
        const float* f =
            both[r] + kPart * B::kScales + (kCodes == kPartColumns ? 0 : first / 16 * (B::kScales - 1));
        auto factor = hn::Set(d, f[0]);
        if constexpr (B::kScales == 2 && kCodes == kPartColumns)
          factor = hn::ConcatUpperLower(d, hn::Set(d, f[1]), factor);
        auto& sum = sums[r].of[kPart % kChains];
        sum = hn::MulAdd(factor, hn::ConvertTo(d, exact[r]), sum);
      }
    }
  });
}

// The remainder of a row of small blocks: rare and short, and therefore compiled only for one row of x.
template <StoredType kType, bool kVnni>
HWY_NOINLINE HWY_ATTR void add_last_parts(const std::byte* blocks, const ByteRow& x, Index part, int some,
                                          RowSums& sums) {
  add_parts<kType, kVnni, 1, false>(blocks, &x, part, some, &sums);
}

// One row of w with kRows rows of x, of `depth` elements.
template <StoredType kType, bool kVnni, int kRows>
HWY_NOINLINE HWY_ATTR void dot_bytes(const std::byte* w, const ByteRow* x, Index depth, float* to) {
  using B = Blocks<kType>;
  constexpr Index kStep = kMostParts * kPartColumns / B::kColumns * B::kBytes;
  constexpr Index kAhead = kBlocksAhead;
  const BlockSums d;
  RowSums sums[kRows];
#pragma GCC unroll 2
  for (auto& row : sums) {
#pragma GCC unroll 4
    for (auto& sum : row.of) sum = hn::Zero(d);
  }
  const Index parts = depth / kPartColumns;
  Index part = 0;
  for (; part + kMostParts <= parts; part += kMostParts, w += kStep) {
#pragma GCC unroll 8
    for (Index line = 0; line < kStep; line += 64) __builtin_prefetch(w + kAhead + line, 0, 2);
    add_parts<kType, kVnni, kRows, true>(w, x, part, kMostParts, sums);
  }
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r) {
    if constexpr (B::kColumns == kPartColumns) {
      if (part < parts) {
        RowSums last = sums[r];  // a copy: the sums of the loop above stay in registers
        add_last_parts<kType, kVnni>(w, x[r], part, static_cast<int>(parts - part), last);
        sums[r] = last;
      }
    }
    const auto& [a, b, c, e] = sums[r].of;
    to[r] = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
  }
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR
#endif
