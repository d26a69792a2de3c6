// Q4_K and Q6_K times a row of bytes on CPUs with AVX-512 and products of bytes (VNNI): two parts of a block in one
// vector of 512 bits, and scales that stay in registers. Included by block_rows.cc for that target.
//
// Legend.  b: a block of 256   codes: numbers of w without sign   x: numbers in 8 bits, a factor for each 32

#if defined(HEADLIGHT_KERNELS_BLOCK_WIDE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_BLOCK_WIDE_INL_H_
#undef HEADLIGHT_KERNELS_BLOCK_WIDE_INL_H_
#else
#define HEADLIGHT_KERNELS_BLOCK_WIDE_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/block_dots-inl.h"

#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

[[nodiscard]] constexpr bool is_wide(StoredType type) {
  return type == StoredType::q4_k || type == StoredType::q6_k;  // slower for Q5_K
}

HWY_INLINE __m512i load_wide(const std::byte* from) { return _mm512_loadu_si512(from); }
HWY_INLINE __m128i load_16(const std::byte* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
// The same 32 bytes twice.
HWY_INLINE __m512i load_twice(const std::byte* from) {
  return _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
// Words of the lower half, words of the upper.
HWY_INLINE __m512i word_pair(short lower, short upper) {
  return _mm512_inserti64x4(_mm512_set1_epi16(lower), _mm256_set1_epi16(upper), 1);
}
// The bits of `mask` from `more`, the others from `codes`, which has none of them.
HWY_INLINE __m512i with_bits(__m512i codes, __m512i more, __m512i mask) {
  return _mm512_ternarylogic_epi32(codes, more, mask, 0xF8);
}

// Inline assembly, because the target does not guarantee the instruction: block_rows.cc asks the CPU.
HWY_INLINE __m512 products(__m512i codes, const std::int8_t* x) {
  __m512i sum = _mm512_setzero_si512();
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(codes), "v"(_mm512_loadu_si512(x)));
  return _mm512_cvtepi32_ps(sum);
}

// ---- Types --------------------------------------------------------------------------------------------

// A block as the product reads it: four vectors of codes, and its scales: eight of 32 elements and as many minima, or
// sixteen of 16.
struct WideBlock {
  __m512i codes[4];
  __m512 scales;  // eight in the lower half, or sixteen
  __m256 minima;  // of Q4_K
};

template <StoredType kType>
struct WideBlocks;

template <>
struct WideBlocks<StoredType::q4_k> {
  static constexpr bool kMinima = true;
  static constexpr Index kBytes = 144;

  // Six bits each in twelve bytes: words s, m and b become s & 63, (b & 15 | s >> 6 << 4), and so for m with b >> 4.
  static HWY_INLINE void scales(const std::byte* b, WideBlock& to) {
    const __m128i all = load_16(b);  // both factors, s, m, b
    const __m128i low = _mm_and_si128(
        _mm_srlv_epi32(_mm_shuffle_epi32(all, _MM_SHUFFLE(2, 2, 1, 1)), _mm_setr_epi32(0, 2, 0, 2)),
        _mm_setr_epi32(0x3F3F3F3F, 0x30303030, 0x3F3F3F3F, 0x30303030));
    const __m128i high =
        _mm_srlv_epi32(_mm_shuffle_epi32(all, _MM_SHUFFLE(3, 3, 3, 3)), _mm_setr_epi32(32, 0, 32, 4));
    const __m128i six = _mm_ternarylogic_epi32(low, high, _mm_set1_epi32(0x0F0F0F0F), 0xF8);
    const __m128 factors = _mm_cvtph_ps(all);
    const __m256 scale = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(six));
    const __m256 minimum = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_unpackhi_epi64(six, six)));
    to.scales = _mm512_castps256_ps512(_mm256_mul_ps(scale, _mm256_broadcastss_ps(factors)));
    to.minima = _mm256_mul_ps(minimum, _mm256_broadcastss_ps(_mm_movehdup_ps(factors)));
  }
  static HWY_INLINE void codes(const std::byte* b, WideBlock& to) {
    const __m512i low = _mm512_set1_epi8(15);
    for (int half = 0; half < 2; ++half) {
      const __m512i both = load_wide(b + kBytes - 128 + 64 * half);
      to.codes[2 * half] = _mm512_and_si512(both, low);
      to.codes[2 * half + 1] = _mm512_and_si512(_mm512_srli_epi16(both, 4), low);
    }
  }
  static HWY_INLINE WideBlock read(const std::byte* b) {
    WideBlock to;
    scales(b, to);
    codes(b, to);
    return to;
  }
};

template <>
struct WideBlocks<StoredType::q6_k> {
  static constexpr bool kMinima = false;
  static constexpr Index kBytes = 210;

  // Four bits of parts 0|1 and 2|3 in 64 bytes, the other two of all four in 32.
  static HWY_INLINE WideBlock read(const std::byte* b) {
    WideBlock to;
    const __m512 factor = _mm512_set1_ps(half_at(b + 208));
    to.scales = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load_16(b + 192))), factor);
    const __m512i low = _mm512_set1_epi8(15), high = _mm512_set1_epi8(0x30);
    for (int half = 0; half < 2; ++half) {
      const __m512i four = load_wide(b + 64 * half), two = load_twice(b + 128 + 32 * half);
      to.codes[2 * half] =
          with_bits(_mm512_and_si512(four, low), _mm512_sllv_epi16(two, word_pair(4, 2)), high);
      to.codes[2 * half + 1] = with_bits(_mm512_and_si512(_mm512_srli_epi16(four, 4), low),
                                         _mm512_srlv_epi16(two, word_pair(0, 2)), high);
    }
    return to;
  }
};

// ---- Products -----------------------------------------------------------------------------------------

// The scales of a block, arranged for the lanes of vector n.
template <bool kMinima>
HWY_INLINE __m512i scale_lanes(int n) {
  if constexpr (kMinima) {
    const int first = n / 2 * 4 + n % 2;
    return _mm512_inserti64x4(_mm512_set1_epi32(first), _mm256_set1_epi32(first + 2), 1);
  } else {
    return _mm512_add_epi32(_mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3),
                            _mm512_set1_epi32(4 * n));
  }
}

// One row of w with kRows rows of x, of `depth` elements: a multiple of 256.
template <StoredType kType, int kRows>
HWY_INLINE void dot_wide(const std::byte* w, const ByteRow* x, Index depth, float* to) {
  using B = WideBlocks<kType>;
  constexpr int kOffset = Blocks<kType>::kOffset;
  constexpr Index kAhead = kBlocksAhead;
  __m512 sums[kRows][2], rest[kRows];  // rest: what minima or the offset of codes take away
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r) sums[r][0] = sums[r][1] = rest[r] = _mm512_setzero_ps();
  for (Index k = 0; k < depth; k += 256, w += B::kBytes) {
#pragma GCC unroll 4
    for (Index line = 0; line < B::kBytes; line += 64) __builtin_prefetch(w + kAhead + line, 0, 2);
    const WideBlock block = B::read(w);
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
      const ByteRow& row = x[r];
      const std::int8_t* numbers = (B::kMinima ? row.paired : row.numbers) + k;
      __m512 both;
      if constexpr (B::kMinima) {
        const Index part = k / kPartColumns;
        const __m256 scales = _mm512_castps512_ps256(block.scales);
        both = _mm512_castps256_ps512(_mm256_mul_ps(scales, _mm256_loadu_ps(row.factors[0] + part)));
        rest[r] = _mm512_castps256_ps512(_mm256_fmadd_ps(block.minima, _mm256_loadu_ps(row.sums[0] + part),
                                                         _mm512_castps512_ps256(rest[r])));
      } else {
        const Index part = k / (kPartColumns / 2);
        both = _mm512_mul_ps(block.scales, _mm512_loadu_ps(row.factors[1] + part));
        rest[r] = _mm512_fmadd_ps(block.scales, _mm512_loadu_ps(row.sums[1] + part), rest[r]);
      }
#pragma GCC unroll 4
      for (int n = 0; n < 4; ++n)
        sums[r][n % 2] =
            _mm512_fmadd_ps(products(block.codes[n], numbers + 64 * n),
                            _mm512_permutexvar_ps(scale_lanes<B::kMinima>(n), both), sums[r][n % 2]);
    }
  }
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r) {
    // Of minima only the lower half counts.
    const __m512 taken = B::kMinima ? _mm512_maskz_mov_ps(0xFF, rest[r])
                                    : _mm512_mul_ps(rest[r], _mm512_set1_ps(float{kOffset}));
    to[r] = _mm512_reduce_add_ps(_mm512_sub_ps(_mm512_add_ps(sums[r][0], sums[r][1]), taken));
  }
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX3
#endif
