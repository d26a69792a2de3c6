// The register tile of byte_gemm.h. See there for the legend.

#if defined(HEADLIGHT_KERNELS_BYTE_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_BYTE_GEMM_INL_H_
#undef HEADLIGHT_KERNELS_BYTE_GEMM_INL_H_
#else
#define HEADLIGHT_KERNELS_BYTE_GEMM_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/byte_gemm.h"

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using ByteSums = hn::ScalableTag<std::int32_t>;
using ByteSumsVec = hn::Vec<ByteSums>;
using ByteFloats = hn::ScalableTag<float>;

// With 512 bits there are 32 registers, else 16; NEON has 32 of 128 bits.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kByteStrip = 6;
#else
inline constexpr int kByteStrip = 4;
#endif

// Properties of a type that the tile needs. `most` is its largest packed byte.
struct ByteCodes {
  int groups_of_part, shift;  // the offset is 1 << shift; -1: none, but minima
  int most;
};
constexpr ByteCodes byte_codes(StoredType type) {
  switch (type) {
    case StoredType::q4_0: return {1, 3, 15};
    case StoredType::q5_0: return {1, 4, 31};
    case StoredType::mxfp4: return {1, 4, 28};
    case StoredType::iq4_nl:
    case StoredType::iq4_xs: return {1, 7, 241};
    case StoredType::q3_k: return {2, 2, 7};
    case StoredType::q6_k: return {2, 5, 63};
    case StoredType::q2_k: return {2, -1, 3};
    case StoredType::q4_1:
    case StoredType::q4_k: return {1, -1, 15};
    default: return {1, -1, 31};  // q5_1, q5_k
  }
}

// Products of four neighbours are added to a lane of 32 bits: `codes` are unsigned, `numbers` signed.
HWY_INLINE ByteSumsVec add_quads(ByteSumsVec sum, ByteSumsVec codes, ByteSumsVec numbers) {
#if HWY_TARGET == HWY_AVX3
  // Inline assembly, because the target does not guarantee the instruction: byte_gemm.cc asks the CPU.
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(codes.raw), "v"(numbers.raw));
#elif HWY_TARGET == HWY_AVX2
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum.raw) : "x"(codes.raw), "x"(numbers.raw));
#elif defined(__ARM_FEATURE_DOTPROD)
  const hn::Repartition<std::int8_t, ByteSums> d8;
  sum.raw = vdotq_s32(sum.raw, hn::BitCast(d8, codes).raw, hn::BitCast(d8, numbers).raw);
#else
  (void)codes, (void)numbers;
#endif
  return sum;
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4
using PairSums = hn::Vec<hn::ScalableTag<std::int16_t>>;
HWY_INLINE PairSums pair_products(ByteSumsVec codes, ByteSumsVec numbers) {
#if HWY_TARGET == HWY_AVX2
  return PairSums{_mm256_maddubs_epi16(codes.raw, numbers.raw)};
#else
  return PairSums{_mm_maddubs_epi16(codes.raw, numbers.raw)};
#endif
}
HWY_INLINE ByteSumsVec sum_of_pairs(PairSums pairs) {
#if HWY_TARGET == HWY_AVX2
  return ByteSumsVec{_mm256_madd_epi16(pairs.raw, _mm256_set1_epi16(1))};
#else
  return ByteSumsVec{_mm_madd_epi16(pairs.raw, _mm_set1_epi16(1))};
#endif
}
#endif

// A group of kQuads quads: `sum` starts with the correction for the offset. kTerms products of pairs fit 16 bits; 0: one
// instruction adds all four products.
template <int kTerms, int kQuads, int kRows>
HWY_INLINE void add_group(const std::int32_t* left, const std::int32_t* right, ByteSumsVec (&sum)[kRows][2]) {
  const ByteSums d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  if constexpr (kTerms == 0) {
#pragma GCC unroll 8
    for (int q = 0; q < kQuads; ++q) {
      const auto w0 = hn::LoadU(d, right + 2 * q * lanes), w1 = hn::LoadU(d, right + (2 * q + 1) * lanes);
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) {
        const auto x = hn::Set(d, left[q * kByteStrip + r]);
        sum[r][0] = add_quads(sum[r][0], w0, x);
        sum[r][1] = add_quads(sum[r][1], w1, x);
      }
    }
  } else {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4
    constexpr int kTogether = kTerms < kQuads ? kTerms : kQuads;
#pragma GCC unroll 4
    for (int q = 0; q < kQuads; q += kTogether) {
      PairSums pairs[kRows][2];
#pragma GCC unroll 8
      for (int i = q; i < q + kTogether; ++i) {
        const auto w0 = hn::LoadU(d, right + 2 * i * lanes), w1 = hn::LoadU(d, right + (2 * i + 1) * lanes);
#pragma GCC unroll 6
        for (int r = 0; r < kRows; ++r) {
          const auto x = hn::Set(d, left[i * kByteStrip + r]);
          const auto p0 = pair_products(w0, x), p1 = pair_products(w1, x);
          pairs[r][0] = i == q ? p0 : hn::Add(pairs[r][0], p0);
          pairs[r][1] = i == q ? p1 : hn::Add(pairs[r][1], p1);
        }
      }
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) {
        sum[r][0] = hn::Add(sum[r][0], sum_of_pairs(pairs[r][0]));
        sum[r][1] = hn::Add(sum[r][1], sum_of_pairs(pairs[r][1]));
      }
    }
#endif
  }
}

// Where words of a part of the left side begin, in rows of a strip.
inline constexpr int kFactorAt = 8, kScaledSumAt = 9, kScaledHalvesAt = 10, kSumAt = 12, kHalvesAt = 13;

// One register tile: a strip times a panel, over all parts; the sums go to `to`.
template <int kTerms, int kGroups, bool kMinima>
HWY_INLINE void sum_tile(const ByteBlock& job, const std::int32_t* left, const std::int32_t* right, int shift,
                         float (&to)[kByteStrip][2 * hn::MaxLanes(ByteFloats())]) {
  constexpr int kQuads = 8 / kGroups;
  const ByteSums d;
  const ByteFloats df;
  const int lanes = static_cast<int>(hn::Lanes(d)), panel = 2 * lanes;
  const auto* scales = reinterpret_cast<const float*>(right) + job.parts * 8 * panel;
  const float* minima = scales + job.parts * kGroups * panel;
  hn::Vec<ByteFloats> total[kByteStrip][2];
#pragma GCC unroll 6
  for (auto& row : total) row[0] = row[1] = hn::Zero(df);
  for (int part = 0; part < job.parts; ++part, left += ByteKernels::kLeftWords * kByteStrip) {
    const auto* floats = reinterpret_cast<const float*>(left);
#pragma GCC unroll 2
    for (int g = 0; g < kGroups; ++g, right += kQuads * panel, scales += panel, minima += panel) {
      ByteSumsVec sum[kByteStrip][2];
#pragma GCC unroll 6
      for (int r = 0; r < kByteStrip; ++r) {
        const int at = (kGroups == 1 ? kSumAt : kHalvesAt + g) * kByteStrip + r;
        sum[r][0] = sum[r][1] = kMinima ? hn::Zero(d) : hn::ShiftLeftSame(hn::Set(d, left[at]), shift);
      }
      add_group<kTerms, kQuads>(left + g * kQuads * kByteStrip, right, sum);
      const auto s0 = hn::LoadU(df, scales), s1 = hn::LoadU(df, scales + lanes);
#pragma GCC unroll 6
      for (int r = 0; r < kByteStrip; ++r) {
        const auto factor = hn::Set(df, floats[kFactorAt * kByteStrip + r]);
        total[r][0] = hn::MulAdd(hn::Mul(hn::ConvertTo(df, sum[r][0]), s0), factor, total[r][0]);
        total[r][1] = hn::MulAdd(hn::Mul(hn::ConvertTo(df, sum[r][1]), s1), factor, total[r][1]);
      }
      if constexpr (kMinima) {
        const auto m0 = hn::LoadU(df, minima), m1 = hn::LoadU(df, minima + lanes);
#pragma GCC unroll 6
        for (int r = 0; r < kByteStrip; ++r) {
          const int at = (kGroups == 1 ? kScaledSumAt : kScaledHalvesAt + g) * kByteStrip + r;
          const auto scaled = hn::Set(df, floats[at]);
          total[r][0] = hn::NegMulAdd(m0, scaled, total[r][0]);
          total[r][1] = hn::NegMulAdd(m1, scaled, total[r][1]);
        }
      }
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < kByteStrip; ++r) {
    hn::StoreU(total[r][0], df, to[r]);
    hn::StoreU(total[r][1], df, to[r] + lanes);
  }
}

template <int kTerms, int kGroups, bool kMinima>
HWY_NOINLINE HWY_ATTR void multiply_tiles(const ByteBlock& job, int shift) {
  const int panel = 2 * static_cast<int>(hn::Lanes(ByteFloats()));
  const std::int32_t* right = job.right;
  for (int column = 0; column < job.columns; column += panel) {
    const int n = HWY_MIN(panel, job.columns - column);
    for (int row = 0; row < job.rows; row += kByteStrip) {
      HWY_ALIGN float sums[kByteStrip][2 * hn::MaxLanes(ByteFloats())];
      sum_tile<kTerms, kGroups, kMinima>(job, job.left + row * job.left_parts * ByteKernels::kLeftWords,
                                         right, shift, sums);
      for (int r = 0; r < HWY_MIN(kByteStrip, job.rows - row); ++r) {
        float* c = job.c + (row + r) * job.c_stride + column;
        const float* before = job.accumulate ? c : job.bias == nullptr ? nullptr : job.bias + column;
        if (before == nullptr) std::copy_n(sums[r], n, c);
        else
          for (int j = 0; j < n; ++j) c[j] = before[j] + sums[r][j];
      }
    }
    right += job.parts * (ByteKernels::kQuads + 2 * kGroups) * panel;
  }
}

// kPlain: products of pairs of bytes, in two instructions.
template <bool kPlain>
HWY_ATTR void multiply_of_type(const ByteBlock& job) {
  const ByteCodes codes = byte_codes(job.type);
  const auto with_terms = [&]<int kTerms>() HWY_ATTR {
    if (codes.groups_of_part == 1 && codes.shift < 0) multiply_tiles<kTerms, 1, true>(job, 0);
    else if (codes.groups_of_part == 1) multiply_tiles<kTerms, 1, false>(job, codes.shift);
    else if (codes.shift < 0) multiply_tiles<kTerms, 2, true>(job, 0);
    else multiply_tiles<kTerms, 2, false>(job, codes.shift);
  };
  // kTerms sums of two products of a byte with 127 stay below 2^15.
  if constexpr (!kPlain) with_terms.template operator()<0>();
  else if (codes.most <= 15) with_terms.template operator()<8>();
  else if (codes.most <= 31) with_terms.template operator()<4>();
  else with_terms.template operator()<2>();
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR
#endif
