#include "kernels/bf16_strip.h"

#include "kernels/matrix_pack.h"

#if defined(__x86_64__) && defined(__linux__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored \
    "-Wmaybe-uninitialized"  // the intrinsics header leaves values undefined on purpose
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/transpose_words-inl.h"

namespace headlight::kernels {
namespace {

constexpr int kLanes = 16;

HEADLIGHT_BF16 inline __m512bh as_bf16(__m512i words) { return reinterpret_cast<__m512bh>(words); }
HEADLIGHT_BF16 inline __m512bh broadcast(const Pair* pair) {
  return as_bf16(_mm512_set1_epi32(static_cast<int>(*pair)));
}
HEADLIGHT_BF16 inline __m512bh load(const Pair* pairs) { return as_bf16(_mm512_loadu_si512(pairs)); }

// 32 elements of a source of which `n` exist, zeros after them.
HEADLIGHT_BF16 inline __m512i load_elements(const std::uint16_t* source, DType type, int n) {
  const auto mask = static_cast<__mmask32>(n >= 32 ? ~0U : (1U << static_cast<unsigned>(n)) - 1);
  const __m512i bits = _mm512_maskz_loadu_epi16(mask, source);
  if (type == DType::bf16) return bits;
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(bits, 1)),
                                                       _mm512_cvtph_ps(_mm512_castsi512_si256(bits))));
}

// Elements of two rows side by side: the lower or upper sixteen of each.
template <int kHalf>
HEADLIGHT_BF16 inline __m512i interleaved(__m512i even, __m512i odd) {
  const __m512i a = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(even, kHalf)),
                b = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(odd, kHalf));
  return _mm512_or_si512(a, _mm512_slli_epi32(b, 16));
}

HEADLIGHT_BF16 inline void store_interleaved(__m512i even, __m512i odd, Pair* row) {
  _mm512_storeu_si512(row, interleaved<0>(even, odd));
  _mm512_storeu_si512(row + kLanes, interleaved<1>(even, odd));
}

}  // namespace

HEADLIGHT_BF16 void load_pairs(const void* source, DType type, int n, Pair* row) {
  const auto* from = static_cast<const std::uint16_t*>(source);
  for (int i = 0; i < n; i += 32) {
    const int words = std::min(16, pairs_of(n - i));
    const auto mask = static_cast<__mmask16>((1U << static_cast<unsigned>(words)) - 1);
    _mm512_mask_storeu_epi32(row + i / 2, mask, load_elements(from + i, type, n - i));
  }
}

HEADLIGHT_BF16 void pack_key_pairs(const void* source, DType type, Index stride, int keys, int dim,
                                   Pair* panels) {
  const auto* from = static_cast<const std::uint16_t*>(source);
  const int pairs = pairs_of(dim);
  for (int first = 0; first < keys; first += kBf16Panel, panels += Index{kBf16Panel} * pairs) {
    for (int half = 0; half < 2; ++half) {
      const int key = first + half * kLanes, n = std::clamp(keys - key, 0, kLanes);
      for (int x = 0; x < dim; x += 32) {
        __m512i rows[kLanes];
        for (int j = 0; j < kLanes; ++j)
          rows[j] =
              j < n ? load_elements(from + (key + j) * stride + x, type, dim - x) : _mm512_setzero_si512();
        Pair* to = panels + Index{x / 2} * kBf16Panel + half * kLanes;
        const int words = std::min(kLanes, pairs - x / 2);
        if (words == kLanes) {
          transpose_words(rows, reinterpret_cast<std::int32_t*>(to), kBf16Panel);
          continue;
        }
        alignas(64) std::int32_t whole[kLanes * kLanes];
        transpose_words(rows, whole, kLanes);
        for (int i = 0; i < words; ++i) std::memcpy(to + i * kBf16Panel, whole + i * kLanes, 64);
      }
    }
  }
}

HEADLIGHT_BF16 void pack_value_pairs(const void* source, DType type, Index stride, int keys, int dim,
                                     Pair* panels) {
  const auto* from = static_cast<const std::uint16_t*>(source);
  for (int x = 0; x < dim; x += kBf16Panel, panels += Index{kBf16Panel} * keys) {
    for (int j = 0; j < keys; j += 2) {
      const __m512i even = load_elements(from + j * stride + x, type, dim - x);
      const __m512i odd =
          j + 1 < keys ? load_elements(from + (j + 1) * stride + x, type, dim - x) : _mm512_setzero_si512();
      store_interleaved(even, odd, panels + Index{j / 2} * kBf16Panel);
    }
  }
}

HEADLIGHT_BF16 void interleave_rows(const Pair* rows, Index stride, int first, int end, Pair* panel) {
  for (int r = first; r < end; r += 2, panel += kBf16Panel) {
    const __m512i even = _mm512_loadu_si512(rows + r * stride);
    const __m512i odd = r + 1 < end ? _mm512_loadu_si512(rows + (r + 1) * stride) : _mm512_setzero_si512();
    store_interleaved(even, odd, panel);
  }
}

HEADLIGHT_BF16 void narrow_in_place(float* row, int begin, int end) {
  auto* to = reinterpret_cast<std::uint16_t*>(row);
  int j = begin;
  for (; j + 2 * kLanes <= end; j += 2 * kLanes) {
    const __m512 low = _mm512_loadu_ps(row + j), high = _mm512_loadu_ps(row + j + kLanes);
    _mm512_storeu_si512(to + j, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
  }
  if (j < end) {
    const __m256bh low = _mm512_cvtneps_pbh(_mm512_loadu_ps(row + j));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + j), reinterpret_cast<__m256i>(low));
  }
}

HEADLIGHT_BF16 void pair_rows(float* a, const float* b, int begin, int end, Pair* own_a, Pair* own_b) {
  for (int j = begin; j < end; j += kLanes) {
    const __m512 y = b != nullptr ? _mm512_loadu_ps(b + j) : _mm512_setzero_ps();
    const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(y, _mm512_loadu_ps(a + j)));
    const __m256i low = _mm512_castsi512_si256(both), high = _mm512_extracti64x4_epi64(both, 1);
    if (own_a != nullptr) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(own_a + j / 2), low);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(own_b + j / 2), high);
    }
    _mm512_storeu_si512(a + j, _mm512_or_si512(_mm512_cvtepu16_epi32(low),
                                               _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16)));
  }
}

HEADLIGHT_BF16 float dot_pairs(const Pair* a, const Pair* b, int n) {
  __m512 sum = _mm512_setzero_ps();
  const int pairs = pairs_of(n);
  for (int i = 0; i < pairs; i += kLanes) {
    const auto mask = static_cast<__mmask16>((1U << static_cast<unsigned>(std::min(kLanes, pairs - i))) - 1);
    sum = _mm512_dpbf16_ps(sum, as_bf16(_mm512_maskz_loadu_epi32(mask, a + i)),
                           as_bf16(_mm512_maskz_loadu_epi32(mask, b + i)));
  }
  return _mm512_reduce_add_ps(sum);
}

namespace {

template <int kRows, int kVectors, bool kTransposed>
HEADLIGHT_BF16 void multiply(const PairStrip& strip) {
  __m512 sum[kRows][kVectors];
  const Pair* row[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    row[r] = kTransposed ? strip.a + r : strip.a + r / 2 * strip.a_two + r % 2 * strip.a_stride;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_setzero_ps();
  }
  const Pair* b = strip.b;
  const Index step = kTransposed ? strip.a_stride : 1;
  const int pairs = strip.pairs;
  Index at = 0;
#pragma GCC unroll 4
  for (int p = 0; p < pairs; ++p, b += kBf16Panel, at += step) {
    __m512bh panel[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) panel[v] = load(b + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const __m512bh x = broadcast(row[r] + at);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], x, panel[v]);
    }
  }
  const float* alpha = strip.alpha;
  const __m512 factor = _mm512_set1_ps(strip.factor);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      float* c = strip.c + r * strip.c_stride + v * kLanes;
      if constexpr (kTransposed) {
        _mm512_storeu_ps(c, _mm512_add_ps(_mm512_loadu_ps(c), sum[r][v]));
      } else {
        _mm512_storeu_ps(c, alpha != nullptr
                                ? _mm512_fmadd_ps(_mm512_loadu_ps(c), _mm512_set1_ps(alpha[r]), sum[r][v])
                                : _mm512_mul_ps(sum[r][v], factor));
      }
    }
  }
}

using StripFunction = void (*)(const PairStrip&);
template <bool kTransposed, std::size_t... kRow>
constexpr auto functions(std::index_sequence<kRow...> /*heights*/) {
  return std::array<std::array<StripFunction, 2>, sizeof...(kRow)>{
      {{multiply<static_cast<int>(kRow) + 1, 1, kTransposed>,
        multiply<static_cast<int>(kRow) + 1, 2, kTransposed>}...}};
}
template <bool kTransposed>
void call(int rows, int vectors, const PairStrip& strip) {
  static constexpr auto kTable = functions<kTransposed>(std::make_index_sequence<kBf16Strip>());
  kTable[static_cast<std::size_t>(rows - 1)][static_cast<std::size_t>(vectors - 1)](strip);
}

}  // namespace

void multiply_pairs(int rows, int vectors, const PairStrip& strip) { call<false>(rows, vectors, strip); }
void multiply_pairs_transposed(int rows, int vectors, const PairStrip& strip) {
  call<true>(rows, vectors, strip);
}

HEADLIGHT_BF16 void multiply_pairs_carefully(const CarefulRow& row) {
  __m512 sum = _mm512_setzero_ps();
  for (int p = 0; p < row.pairs; ++p) {
    const bool* seen = row.seen + 2 * p * row.seen_stride;
    const unsigned keep = (seen[0] ? 0xFFFFU : 0U) | (seen[row.seen_stride] ? 0xFFFF0000U : 0U);
    if (keep == 0) continue;
    const __m512i masked = _mm512_and_si512(_mm512_loadu_si512(row.b + p * kBf16Panel),
                                            _mm512_set1_epi32(static_cast<int>(keep)));
    sum = _mm512_dpbf16_ps(sum, broadcast(row.a + p * row.a_stride), as_bf16(masked));
  }
  _mm512_storeu_ps(row.c, _mm512_fmadd_ps(_mm512_loadu_ps(row.c), _mm512_set1_ps(row.alpha), sum));
}

}  // namespace headlight::kernels

#endif
