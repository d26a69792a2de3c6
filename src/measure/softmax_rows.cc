// The softmax of the unfused path: three passes over a row, exp by a degree-6 polynomial.
#include <algorithm>
#include <cmath>

#include "measure/unfused.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace headlight::measure {
namespace {

using SoftmaxRow = void (*)(float* row, Index count);

void softmax_row_plain(float* row, Index count) {
  const float top = *std::max_element(row, row + count);
  float sum = 0;
  for (Index j = 0; j < count; ++j) sum += row[j] = std::exp(row[j] - top);
  for (Index j = 0; j < count; ++j) row[j] /= sum;
}

#if defined(__x86_64__)
// e^x for x ≤ 0, about 1 ULP. x is split into n·ln 2 + r with ln 2 in two parts, so that r keeps all its
// bits; results below 2^-126 become 2^-126 times a small factor, which does not affect sums.
__attribute__((target("avx2,fma"), always_inline)) inline __m256 exp_nonpositive(__m256 x) {
  x = _mm256_max_ps(x, _mm256_set1_ps(-87.3F));
  const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504F)),
                                   _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375F), x);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4F), r);
  __m256 p = _mm256_set1_ps(1.9875691500e-4F);
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.3981999507e-3F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(8.3334519073e-3F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(4.1665795894e-2F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.6666665459e-1F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(5.0000001201e-1F));
  p = _mm256_fmadd_ps(p, _mm256_mul_ps(r, r), _mm256_add_ps(r, _mm256_set1_ps(1.0F)));
  const __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), exponent));
}

__attribute__((target("avx2,fma"))) float lane_max(__m256 x) {
  __m128 m = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  m = _mm_max_ps(m, _mm_movehl_ps(m, m));
  return _mm_cvtss_f32(_mm_max_ss(m, _mm_shuffle_ps(m, m, 1)));
}

__attribute__((target("avx2,fma"))) float lane_sum(__m256 x) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

__attribute__((target("avx2,fma"))) void softmax_row_avx2(float* row, Index count) {
  const Index whole = count / 16 * 16;
  if (whole == 0) return softmax_row_plain(row, count);
  // Two accumulators: max and add have a latency of four, a single chain of them would limit the speed.
  __m256 top0 = _mm256_loadu_ps(row), top1 = top0;
  for (Index j = 0; j < whole; j += 16) {
    top0 = _mm256_max_ps(top0, _mm256_loadu_ps(row + j));
    top1 = _mm256_max_ps(top1, _mm256_loadu_ps(row + j + 8));
  }
  float top = lane_max(_mm256_max_ps(top0, top1));
  for (Index j = whole; j < count; ++j) top = std::max(top, row[j]);

  const __m256 tops = _mm256_set1_ps(top);
  __m256 sum0 = _mm256_setzero_ps(), sum1 = sum0;
  for (Index j = 0; j < whole; j += 16) {
    const __m256 a = exp_nonpositive(_mm256_sub_ps(_mm256_loadu_ps(row + j), tops));
    const __m256 b = exp_nonpositive(_mm256_sub_ps(_mm256_loadu_ps(row + j + 8), tops));
    _mm256_storeu_ps(row + j, a);
    _mm256_storeu_ps(row + j + 8, b);
    sum0 = _mm256_add_ps(sum0, a);
    sum1 = _mm256_add_ps(sum1, b);
  }
  float sum = lane_sum(_mm256_add_ps(sum0, sum1));
  for (Index j = whole; j < count; ++j) sum += row[j] = std::exp(row[j] - top);

  const float inverse = 1.0F / sum;
  for (Index j = 0; j < count; ++j) row[j] *= inverse;
}
#endif

SoftmaxRow best_softmax_row() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return softmax_row_avx2;
#endif
  return softmax_row_plain;
}

}  // namespace

void softmax_rows(const SoftmaxRows& matrix, Index first, Index last) {
  static const SoftmaxRow softmax_row = best_softmax_row();
  for (Index i = first; i < last; ++i) {
    float* row = matrix.scores + i * matrix.columns;
    const Index seen = matrix.causal
                           ? std::clamp<Index>(i + matrix.columns - matrix.q_len + 1, 0, matrix.columns)
                           : matrix.columns;
    if (seen > 0) softmax_row(row, seen);
    std::fill(row + seen, row + matrix.columns, 0.0F);
  }
}

}  // namespace headlight::measure
