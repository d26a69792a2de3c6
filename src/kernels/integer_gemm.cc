// See integer_gemm.h for the legend. One target only, so no table; features beyond AVX-512 are checked at run time.
#include "kernels/integer_gemm.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // of what its own header leaves undefined on purpose
#endif
#include <immintrin.h>

#include "kernels/transpose_words-inl.h"

// For compilers that do not enable these instructions for the whole program.
#define HEADLIGHT_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")))

namespace headlight::kernels {
namespace {

constexpr int kStrip = IntegerKernels::kStrip, kPanel = IntegerKernels::kPanel,
              kPairs = IntegerKernels::kPairs;

void pack_left(const float* arranged, Index stride, int rows, Index depth, std::int32_t* left,
               float* factors) {
  const Index blocks = depth / kQ8Columns;
  if (rows < kStrip) {
    std::fill_n(left, blocks * kPairs * kStrip, 0);
    std::fill_n(factors, blocks * kStrip, 0.0F);
  }
  for (int r = 0; r < rows; ++r) {
    const auto* pairs = reinterpret_cast<const std::byte*>(arranged + r * stride);
    for (Index p = 0; p < blocks * kPairs; ++p)
      std::memcpy(left + p * kStrip + r, pairs + p * Index{sizeof *left}, sizeof *left);
    for (Index b = 0; b < blocks; ++b)
      std::memcpy(factors + b * kStrip + r, pairs + 2 * depth + b * Index{sizeof(float)}, sizeof(float));
  }
}

struct Block {
  const std::byte* numbers;
  float factor;
};
// Block `b` of the first row. A row of int8 has one factor for all.
HEADLIGHT_VNNI inline Block block_of(const StoredRows& w, Index b) {
  if (w.type == StoredType::int8) return {w.data + b * kQ8Columns, *w.scales};
  const std::byte* block = w.data + b * kQ8Bytes;
  std::uint16_t bits = 0;
  std::memcpy(&bits, block, sizeof bits);
  return {block + 2, _cvtsh_ss(bits)};
}

HEADLIGHT_VNNI void pack_right(const StoredRows& w, Index first, int columns, int blocks, std::int32_t* right,
                               float* factors) {
  for (int column = 0; column < columns; column += kPanel) {
    for (int b = 0; b < blocks; ++b, right += kPairs * kPanel, factors += kPanel) {
      for (int half = 0; half < kPanel; half += 16) {
        __m512i rows[16];
        for (int j = 0; j < 16; ++j) {
          rows[j] = _mm512_setzero_si512();
          factors[half + j] = 0;
          if (column + half + j >= columns) continue;
          const Block block = block_of(w.from(column + half + j), first + b);
          __builtin_prefetch(block.numbers + 4 * kQ8Bytes);  // the next blocks of the row
          factors[half + j] = block.factor;
          rows[j] = _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(block.numbers)));
        }
        transpose_words(rows, right + half, kPanel);
      }
    }
  }
}

// One register tile: a strip times a panel.
HEADLIGHT_VNNI void multiply_tile(const IntegerBlock& job, int row, int column) {
  const std::int32_t* left = job.left + row / kStrip * job.left_blocks * kPairs * kStrip;
  const float* left_factors = job.left_factors + row / kStrip * job.left_blocks * kStrip;
  const std::int32_t* right = job.right + Index{column} * job.blocks * kPairs;
  const float* right_factors = job.right_factors + Index{column} * job.blocks;
  __m512 sum[kStrip][2];
#pragma GCC unroll 6
  for (auto& row_sum : sum) row_sum[0] = row_sum[1] = _mm512_setzero_ps();
  for (int b = 0; b < job.blocks; ++b) {
    __m512i part[kStrip][2];
#pragma GCC unroll 6
    for (auto& row_part : part) row_part[0] = row_part[1] = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (int p = 0; p < kPairs; ++p, left += kStrip, right += kPanel) {
      const __m512i w0 = _mm512_loadu_si512(right), w1 = _mm512_loadu_si512(right + 16);
#pragma GCC unroll 6
      for (int r = 0; r < kStrip; ++r) {
        const __m512i x = _mm512_set1_epi32(left[r]);
        part[r][0] = _mm512_dpwssd_epi32(part[r][0], w0, x);
        part[r][1] = _mm512_dpwssd_epi32(part[r][1], w1, x);
      }
    }
    const __m512 f0 = _mm512_loadu_ps(right_factors), f1 = _mm512_loadu_ps(right_factors + 16);
#pragma GCC unroll 6
    for (int r = 0; r < kStrip; ++r) {
      const __m512 factor = _mm512_set1_ps(left_factors[r]);
      sum[r][0] = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(part[r][0]), f0), factor, sum[r][0]);
      sum[r][1] = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(part[r][1]), f1), factor, sum[r][1]);
    }
    left_factors += kStrip;
    right_factors += kPanel;
  }
  for (int v = 0; v < 2; ++v) {
    const int n = std::clamp(job.columns - column - 16 * v, 0, 16);
    const auto mask = static_cast<__mmask16>((1U << n) - 1);
    const __m512 bias =
        job.bias == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(mask, job.bias + column + 16 * v);
    for (int r = 0; r < std::min(kStrip, job.rows - row); ++r) {
      float* to = job.c + (row + r) * job.c_stride + column + 16 * v;
      const __m512 before = job.accumulate ? _mm512_maskz_loadu_ps(mask, to) : bias;
      _mm512_mask_storeu_ps(to, mask, _mm512_add_ps(before, sum[r][v]));
    }
  }
}

void multiply(const IntegerBlock& job) {
  for (int column = 0; column < job.columns; column += kPanel) {
    for (int row = 0; row < job.rows; row += kStrip) multiply_tile(job, row, column);
  }
}

}  // namespace

const IntegerKernels* integer_kernels_for(SimdTarget target) {
  static const bool here = __builtin_cpu_supports("avx512vnni") != 0;
  static constexpr IntegerKernels kKernels = {pack_left, pack_right, multiply};
  return here && target == SimdTarget::avx512 ? &kKernels : nullptr;
}

}  // namespace headlight::kernels

#else

namespace headlight::kernels {
const IntegerKernels* integer_kernels_for(SimdTarget /*target*/) { return nullptr; }
}  // namespace headlight::kernels

#endif
