#include "kernels/matrix_strip.h"

#if defined(__x86_64__) && defined(__linux__)
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/matrix_pack.h"
#include "kernels/transpose_words-inl.h"

#define HEADLIGHT_MATRIX_STRIP \
  __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))

namespace headlight::kernels {
namespace {

constexpr int kTile = 16;  // rows of a tile, and its columns of f32
constexpr int kLine = 64;  // bytes of a row of a tile

// Tiles 0 and 1 are the upper rows of c, 2 and 3 the lower ones; 4 and 5 are a; 6 and 7 the halves of the panel.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

constexpr std::array<TileConfig, kMatrixRows + 1> kConfigs = [] {
  std::array<TileConfig, kMatrixRows + 1> configs;
  for (int count = 1; count <= kMatrixRows; ++count) {
    const int upper = std::min(count, kTile), lower = count - upper;
    const int heights[8] = {upper, upper, lower, lower, upper, lower, kTile, kTile};
    TileConfig& config = configs[static_cast<std::size_t>(count)];
    for (int i = 0; i < 8; ++i) {
      config.rows[i] = static_cast<std::uint8_t>(heights[i]);
      config.row_bytes[i] = heights[i] > 0 ? kLine : 0;
    }
  }
  return configs;
}();

// Forces pending stores to memory: the compiler does not see that tiles are loaded from the source.
inline void settle_memory() { asm volatile("" ::: "memory"); }

template <bool kLower>
HEADLIGHT_MATRIX_STRIP inline void add_step(const Pair* a, Index a_bytes, const Pair* b) {
  constexpr int kPanelBytes = kBf16Panel * static_cast<int>(sizeof(Pair));
  _tile_loadd(6, b, kPanelBytes);
  _tile_loadd(4, a, a_bytes);
  _tile_dpbf16ps(0, 4, 6);
  _tile_loadd(7, b + kTile, kPanelBytes);
  _tile_dpbf16ps(1, 4, 7);
  if constexpr (kLower) {
    _tile_loadd(5, reinterpret_cast<const std::byte*>(a) + kTile * a_bytes, a_bytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}

// The last, incomplete step, padded with zeros: the memory after it is not part of the operand.
template <bool kLower>
HEADLIGHT_MATRIX_STRIP void add_rest(const MatrixStrip& strip, int from) {
  alignas(64) Pair a[kMatrixRows][kStepPairs] = {};
  alignas(64) Pair b[kStepPairs][kBf16Panel] = {};
  const auto rest = static_cast<std::size_t>(strip.pairs - from);
  for (int r = 0; r < strip.rows; ++r)
    std::memcpy(a[r], strip.a + r * strip.a_stride + from, rest * sizeof(Pair));
  std::memcpy(b, strip.b + Index{from} * kBf16Panel, rest * sizeof b[0]);
  settle_memory();
  add_step<kLower>(a[0], kLine, b[0]);
  settle_memory();
}

template <bool kLower>
HEADLIGHT_MATRIX_STRIP void multiply(const MatrixStrip& strip, float* sums) {
  _tile_zero(0);
  _tile_zero(1);
  if constexpr (kLower) {
    _tile_zero(2);
    _tile_zero(3);
  }
  const Index a_bytes = strip.a_stride * Index{sizeof(Pair)};
  int p = 0;
  for (; p + kStepPairs <= strip.pairs; p += kStepPairs)
    add_step<kLower>(strip.a + p, a_bytes, strip.b + Index{p} * kBf16Panel);
  if (p < strip.pairs) add_rest<kLower>(strip, p);
  constexpr int kRowBytes = kBf16Panel * static_cast<int>(sizeof(float));
  _tile_stored(0, sums, kRowBytes);
  _tile_stored(1, sums + kTile, kRowBytes);
  if constexpr (kLower) {
    _tile_stored(2, sums + kTile * kBf16Panel, kRowBytes);
    _tile_stored(3, sums + kTile * kBf16Panel + kTile, kRowBytes);
  }
}

// Rows of sums to c: multiplied, or added.
template <int kVectors, bool kAdd>
HEADLIGHT_MATRIX_STRIP inline void finish(const MatrixStrip& strip, const float* sums) {
  const __m512 factor = _mm512_set1_ps(strip.factor);
  const float* alpha = strip.alpha;
  const Index stride = strip.c_stride;
  float* c = strip.c;
  for (int r = 0, rows = strip.rows; r < rows; ++r, c += stride, sums += kBf16Panel) {
    const __m512 scale = kAdd ? _mm512_set1_ps(alpha[r]) : factor;
#pragma GCC unroll 2
    for (int x = 0; x < kVectors * kTile; x += kTile) {
      const __m512 sum = _mm512_load_ps(sums + x);
      _mm512_storeu_ps(
          c + x, kAdd ? _mm512_fmadd_ps(_mm512_loadu_ps(c + x), scale, sum) : _mm512_mul_ps(sum, scale));
    }
  }
}

}  // namespace

HEADLIGHT_MATRIX_STRIP void set_matrix_rows(int rows) {
  settle_memory();
  _tile_loadconfig(&kConfigs[static_cast<std::size_t>(rows)]);
}

HEADLIGHT_MATRIX_STRIP void multiply_on_matrix_unit(const MatrixStrip& strip) {
  alignas(64) float sums[kMatrixRows * kBf16Panel];
  settle_memory();
  if (strip.rows > kTile) multiply<true>(strip, sums);
  else multiply<false>(strip, sums);
  settle_memory();
  const bool whole = strip.columns > kTile;
  if (strip.alpha != nullptr) whole ? finish<2, true>(strip, sums) : finish<1, true>(strip, sums);
  else whole ? finish<2, false>(strip, sums) : finish<1, false>(strip, sums);
}

HEADLIGHT_BF16 void turn_rows(const float* rows, Index stride, int count, Pair* out, Index out_stride) {
  for (int first = 0; first < count; first += 2 * kStepPairs) {
    for (int x = 0; x < kMatrixRows; x += kTile) {
      __m512i pairs[kStepPairs];
      for (int i = 0; i < kStepPairs; ++i) {
        const int r = first + 2 * i;
        const float* row = rows + r * stride + x;
        const __m512 even = r < count ? _mm512_loadu_ps(row) : _mm512_setzero_ps();
        const __m512 odd = r + 1 < count ? _mm512_loadu_ps(row + stride) : _mm512_setzero_ps();
        const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(odd, even));
        const __m512i low = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(both)),
                      high = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(both, 1));
        pairs[i] = _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
      }
      transpose_words(pairs, reinterpret_cast<std::int32_t*>(out + x * out_stride + first / 2), out_stride);
    }
  }
}

HEADLIGHT_MATRIX_STRIP void release_matrix_unit() { _tile_release(); }

}  // namespace headlight::kernels

#endif
