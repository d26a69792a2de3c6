// Tiles with one bf16 per number (see matrix_unit.h for the legend), by dot products of AVX-512: twice the multiply-adds of f32.
#include "kernels/matrix_pack.h"

#if defined(__x86_64__) && defined(__linux__)
#include <immintrin.h>

#include <cstring>

namespace headlight::kernels {
namespace {

constexpr int kStrip = MatrixKernels::kStrip, kPairs = MatrixKernels::kStep / 2;
constexpr Index kTileBytes = MatrixKernels::kTileBytes;
constexpr int kTileRow = 64;  // bytes
constexpr int kRows = 8;      // at a time: with both halves of a panel, sixteen sums in registers

HEADLIGHT_BF16 inline __m512bh as_bf16(__m512i words) { return reinterpret_cast<__m512bh>(words); }

// kRows rows of a strip times a panel.
HEADLIGHT_BF16 void multiply_rows(const MatrixBlock& job, const std::byte* left, const std::byte* right,
                                  float* c, Index c_stride, const float* bias) {
  __m512 sums[kRows][2];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half)
      sums[r][half] = job.accumulate    ? _mm512_loadu_ps(c + r * c_stride + 16 * half)
                      : bias != nullptr ? _mm512_loadu_ps(bias + 16 * half)
                                        : _mm512_setzero_ps();
  }
  for (int s = 0; s < job.steps; ++s, left += kTileBytes, right += 2 * kTileBytes) {
    for (int p = 0; p < kPairs; ++p) {
      const __m512bh first = as_bf16(_mm512_loadu_si512(right + p * kTileRow)),
                     second = as_bf16(_mm512_loadu_si512(right + kTileBytes + p * kTileRow));
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        int pair = 0;
        std::memcpy(&pair, left + r * kTileRow + 4 * p, sizeof pair);
        const __m512bh x = as_bf16(_mm512_set1_epi32(pair));
        sums[r][0] = _mm512_dpbf16_ps(sums[r][0], x, first);
        sums[r][1] = _mm512_dpbf16_ps(sums[r][1], x, second);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    _mm512_storeu_ps(c + r * c_stride, sums[r][0]);
    _mm512_storeu_ps(c + r * c_stride + 16, sums[r][1]);
  }
}

template <int kStrips>
void multiply_strips(const MatrixBlock& job, const std::byte* left, const std::byte* right, float* c,
                     Index c_stride, const float* bias) {
  for (int strip = 0; strip < kStrips; ++strip) {
    for (int row = 0; row < kStrip; row += kRows)
      multiply_rows(job, left + strip * job.left_steps * kTileBytes + row * kTileRow, right,
                    c + (strip * kStrip + row) * c_stride, c_stride, bias);
  }
}

void multiply(const MatrixBlock& job) { for_tiles(job, multiply_strips<1>, multiply_strips<2>); }

}  // namespace

const MatrixKernels* bf16_kernels_for(SimdTarget target) {
  if (const MatrixKernels* unit = matrix_kernels_for(target)) return unit;
  static const bool here = has_bf16_dots();
  static const MatrixKernels kernels = with_packing(multiply);
  return here && target == SimdTarget::avx512 ? &kernels : nullptr;
}

}  // namespace headlight::kernels

#else

namespace headlight::kernels {
const MatrixKernels* bf16_kernels_for(SimdTarget /*target*/) { return nullptr; }
}  // namespace headlight::kernels

#endif
