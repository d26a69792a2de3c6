#include "kernels/matrix_pack.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__) && defined(__linux__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored \
    "-Wmaybe-uninitialized"  // the intrinsics header leaves values undefined on purpose
#endif
#include <immintrin.h>

#include "kernels/transpose_words-inl.h"

namespace headlight::kernels {
namespace {

constexpr int kStrip = MatrixKernels::kStrip, kPanel = MatrixKernels::kPanel, kStep = MatrixKernels::kStep;
constexpr Index kTileBytes = MatrixKernels::kTileBytes;
constexpr int kTileRow = 64;  // bytes

struct Parts {
  __m512i high, low;
};
// 32 numbers as one or two bf16 each. Values that are not finite as bf16 have no low part: infinity minus infinity is NaN.
template <int kParts>
HEADLIGHT_BF16 inline Parts split(__m512 first, __m512 second) {
  const auto high = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first));
  if constexpr (kParts == 1) return {high, _mm512_setzero_si512()};
  const auto rest = [&](__m512 x, __m256i rounded) HEADLIGHT_BF16 {
    const __m512 wide = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(rounded), 16));
    return _mm512_maskz_sub_ps(_knot_mask16(_mm512_fpclass_ps_mask(wide, 0x99)), x, wide);
  };
  const __m512 low_first = rest(first, _mm512_castsi512_si256(high)),
               low_second = rest(second, _mm512_extracti64x4_epi64(high, 1));
  return {high, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(low_second, low_first))};
}

// 32 floats of which `n` exist, zeros after them.
template <int kParts>
HEADLIGHT_BF16 inline Parts split_floats(const float* x, Index n) {
  const auto mask = [&](Index first) {
    return static_cast<__mmask16>((1U << std::clamp<Index>(n - first, 0, 16)) - 1);
  };
  return split<kParts>(_mm512_maskz_loadu_ps(mask(0), x), _mm512_maskz_loadu_ps(mask(16), x + 16));
}

// ---- Left ---------------------------------------------------------------------------------------------

template <int kParts>
HEADLIGHT_BF16 void pack_left_parts(const float* x, Index stride, int rows, Index depth, std::byte* left) {
  if (rows < kStrip)
    std::memset(left, 0, static_cast<std::size_t>(MatrixKernels::steps_of(depth) * kParts * kTileBytes));
  for (Index k = 0; k < depth; k += kStep, left += kParts * kTileBytes) {
    for (int r = 0; r < rows; ++r) {
      const Parts parts = split_floats<kParts>(x + r * stride + k, depth - k);
      _mm512_storeu_si512(left + r * kTileRow, parts.high);
      if constexpr (kParts == 2) _mm512_storeu_si512(left + kTileBytes + r * kTileRow, parts.low);
    }
  }
}

// The lower sixteen bf16 beside the upper ones.
HEADLIGHT_BF16 inline __m512i paired(__m512i numbers) {
  const __m512i even = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(numbers)),
                odd = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(numbers, 1));
  return _mm512_or_si512(even, _mm512_slli_epi32(odd, 16));
}
// Two steps of depth, sixteen numbers each, as pairs.
template <int kParts>
HEADLIGHT_BF16 inline Parts split_pairs(__m512 even, __m512 odd) {
  const Parts parts = split<kParts>(even, odd);
  return {paired(parts.high), kParts == 2 ? paired(parts.low) : parts.low};
}

template <int kParts>
HEADLIGHT_BF16 void pack_left_transposed_parts(const float* x, Index stride, int rows, Index depth,
                                               std::byte* left) {
  const auto mask = static_cast<__mmask16>((1U << rows) - 1);
  const auto row_at = [&](Index k) HEADLIGHT_BF16 {
    return k < depth ? _mm512_maskz_loadu_ps(mask, x + k * stride) : _mm512_setzero_ps();
  };
  for (Index k = 0; k < depth; k += kStep, left += kParts * kTileBytes) {
    __m512i high[16], low[16];
    for (int p = 0; p < 16; ++p) {
      const Parts parts = split_pairs<kParts>(row_at(k + 2 * p), row_at(k + 2 * p + 1));
      high[p] = parts.high;
      low[p] = parts.low;
    }
    transpose_words(high, reinterpret_cast<std::int32_t*>(left), 16);
    if constexpr (kParts == 2) transpose_words(low, reinterpret_cast<std::int32_t*>(left + kTileBytes), 16);
  }
}

void pack_left(const float* x, Index stride, int rows, Index depth, int parts, std::byte* left) {
  (parts == 1 ? pack_left_parts<1> : pack_left_parts<2>)(x, stride, rows, depth, left);
}
void pack_left_transposed(const float* x, Index stride, int rows, Index depth, int parts, std::byte* left) {
  (parts == 1 ? pack_left_transposed_parts<1> : pack_left_transposed_parts<2>)(x, stride, rows, depth, left);
}

// ---- Right --------------------------------------------------------------------------------------------

// Where the tiles of a panel's step begin.
std::byte* tiles_at(std::byte* right, int column, int steps, int step, int parts) {
  return right + (Index{column / kPanel} * steps + step) * parts * 2 * kTileBytes;
}

// Prefetches the same section of the next panel's rows: hardware prefetchers do not track so many rows.
void fetch_ahead(const StoredRows& w, Index from, Index bytes) {
  const std::byte* next = w.data + kPanel * w.step + from;
  for (Index line = 0; line < bytes; line += 64) __builtin_prefetch(next + line);
}

// Sixteen columns of bf16, of which `n` exist. They have the format of tiles, apart from the order.
HEADLIGHT_BF16 void pack_half(const StoredRows& w, Index k, int n, int depth, std::byte* right) {
  for (int x = 0; x < depth; x += kStep, right += 2 * kTileBytes) {
    const auto mask = static_cast<__mmask32>((std::uint64_t{1} << std::min(kStep, depth - x)) - 1);
    __m512i rows[16];
    for (int j = 0; j < 16; ++j) {
      const StoredRows row = w.from(std::min(j, n - 1));
      fetch_ahead(row, 2 * (k + x), kTileRow);
      rows[j] = j < n ? _mm512_maskz_loadu_epi16(mask, row.data + 2 * (k + x)) : _mm512_setzero_si512();
    }
    transpose_words(rows, reinterpret_cast<std::int32_t*>(right), 16);
  }
}

HEADLIGHT_BF16 __m512 to_floats(__m128i numbers) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(numbers)); }

// The same of int8, whose numbers are exact in bf16; their scales are left to the caller.
HEADLIGHT_BF16 void pack_int8_half(const StoredRows& w, Index k, int n, int depth, std::byte* right) {
  for (int x = 0; x < depth; x += kStep, right += 2 * kTileBytes) {
    const auto mask = static_cast<__mmask32>((std::uint64_t{1} << std::min(kStep, depth - x)) - 1);
    __m512i rows[16];
    for (int j = 0; j < 16; ++j) {
      const __m256i bytes =
          j < n ? _mm256_maskz_loadu_epi8(mask, w.from(j).data + k + x) : _mm256_setzero_si256();
      rows[j] = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(to_floats(_mm256_extracti128_si256(bytes, 1)),
                                                              to_floats(_mm256_castsi256_si128(bytes))));
    }
    transpose_words(rows, reinterpret_cast<std::int32_t*>(right), 16);
  }
}

// Sixteen columns of any other type.
template <int kParts>
HEADLIGHT_BF16 void pack_wide_half(const StoredRows& w, Index k, int n, int depth, std::byte* right) {
  alignas(64) float wide[16 * kStoredDepth];
  const StoredKernels& stored = stored_kernels_for(SimdTarget::avx512, w.type);
  const bool as_it_is = w.type == StoredType::f32;
  for (int j = 0; !as_it_is && j < n; ++j) stored.widen(w.from(j), k, depth, wide + j * kStoredDepth);
  const auto column = [&](int j) {
    return as_it_is ? reinterpret_cast<const float*>(w.from(j).data) + k : wide + j * kStoredDepth;
  };
  for (int x = 0; x < depth; x += kStep, right += kParts * 2 * kTileBytes) {
    __m512i high[16], low[16];
    for (int j = 0; j < 16; ++j) {
      const Parts parts = j < n ? split_floats<kParts>(column(j) + x, depth - x)
                                : Parts{_mm512_setzero_si512(), _mm512_setzero_si512()};
      high[j] = parts.high;
      low[j] = parts.low;
    }
    transpose_words(high, reinterpret_cast<std::int32_t*>(right), 16);
    if constexpr (kParts == 2)
      transpose_words(low, reinterpret_cast<std::int32_t*>(right + 2 * kTileBytes), 16);
  }
}

void pack_right(const StoredRows& w, Index k, int columns, int depth, int parts, std::byte* right) {
  const int steps = static_cast<int>(MatrixKernels::steps_of(depth));
  const auto pack = w.type == StoredType::bf16                 ? pack_half
                    : w.type == StoredType::int8 && parts == 1 ? pack_int8_half
                    : parts == 1                               ? pack_wide_half<1>
                                                               : pack_wide_half<2>;
  for (int column = 0; column < columns; column += kPanel) {
    std::byte* panel = tiles_at(right, column, steps, 0, parts);
    for (int half = 0; half < 2; ++half) {
      const int n = std::clamp(columns - column - 16 * half, 0, 16);
      if (n > 0) pack(w.from(column + 16 * half), k, n, depth, panel + half * kTileBytes);
      else  // unused columns, initialised only to be defined
        for (int step = 0; step < steps * parts; ++step)
          std::memset(panel + (2 * step + half) * kTileBytes, 0, kTileBytes);
    }
  }
}

template <int kParts>
HEADLIGHT_BF16 void pack_right_in_out_parts(const StoredRows& w, Index first, int columns, int depth,
                                            std::byte* right) {
  const StoredKernels& stored = stored_kernels_for(SimdTarget::avx512, w.type);
  const int steps = static_cast<int>(MatrixKernels::steps_of(depth));
  alignas(64) float pair[2][kPanel];
  for (int k = 0; k < steps * kStep; k += 2) {
    for (int column = 0; column < columns; column += kPanel) {
      const int n = std::min(kPanel, columns - column);
      const float *even = pair[0], *odd = pair[1];
      if (w.type == StoredType::f32 && n == kPanel && k + 1 < depth) {  // without conversion
        even = reinterpret_cast<const float*>(w.from(k).data) + first + column;
        odd = reinterpret_cast<const float*>(w.from(k + 1).data) + first + column;
      } else {
        std::memset(pair, 0, sizeof pair);
        for (int i = 0; i < 2 && k + i < depth; ++i) stored.widen(w.from(k + i), first + column, n, pair[i]);
      }
      std::byte* tiles = tiles_at(right, column, steps, k / kStep, kParts) + k % kStep / 2 * kTileRow;
      for (int half = 0; half < 2; ++half, tiles += kTileBytes) {
        const Parts both =
            split_pairs<kParts>(_mm512_loadu_ps(even + 16 * half), _mm512_loadu_ps(odd + 16 * half));
        _mm512_storeu_si512(tiles, both.high);
        if constexpr (kParts == 2) _mm512_storeu_si512(tiles + 2 * kTileBytes, both.low);
      }
    }
  }
}

void pack_right_in_out(const StoredRows& w, Index first, int columns, int depth, int parts,
                       std::byte* right) {
  (parts == 1 ? pack_right_in_out_parts<1> : pack_right_in_out_parts<2>)(w, first, columns, depth, right);
}

// ---- Blocks -------------------------------------------------------------------------------------------

void multiply_edge(const MatrixBlock& job, MultiplyTiles tiles, const std::byte* left, const std::byte* right,
                   int row, int column, int rows, int columns) {
  alignas(64) float whole[2 * kStrip * kPanel] = {};
  alignas(64) float bias[kPanel] = {};
  const auto bytes = sizeof(float) * static_cast<std::size_t>(columns);
  if (job.bias != nullptr) std::memcpy(bias, job.bias + column, bytes);
  for (int r = 0; job.accumulate && r < rows; ++r)
    std::memcpy(whole + r * kPanel, job.c + (row + r) * job.c_stride + column, bytes);
  tiles(job, left, right, whole, kPanel, job.bias != nullptr ? bias : nullptr);
  for (int r = 0; r < rows; ++r)
    std::memcpy(job.c + (row + r) * job.c_stride + column, whole + r * kPanel, bytes);
}

}  // namespace

bool has_bf16_dots() { return __builtin_cpu_supports("avx512bf16") != 0; }

MatrixKernels with_packing(void (*multiply)(const MatrixBlock&)) {
  return {pack_left, pack_left_transposed, pack_right, pack_right_in_out, multiply};
}

void for_tiles(const MatrixBlock& job, MultiplyTiles one, MultiplyTiles two) {
  for (int row = 0; row < job.rows; row += 2 * kStrip) {
    const std::byte* left = job.left + row / kStrip * job.left_steps * job.left_parts * kTileBytes;
    const int rows = std::min(2 * kStrip, job.rows - row);
    const MultiplyTiles tiles = rows > kStrip ? two : one;
    for (int column = 0; column < job.columns; column += kPanel) {
      const std::byte* right =
          job.right + Index{column / kPanel} * job.steps * job.right_parts * 2 * kTileBytes;
      const int columns = std::min(kPanel, job.columns - column);
      if (rows % kStrip == 0 && columns == kPanel) {
        tiles(job, left, right, job.c + row * job.c_stride + column, job.c_stride,
              job.bias == nullptr ? nullptr : job.bias + column);
      } else {
        multiply_edge(job, tiles, left, right, row, column, rows, columns);
      }
    }
  }
}

}  // namespace headlight::kernels

#endif
