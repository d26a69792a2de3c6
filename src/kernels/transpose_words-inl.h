// Sixteen rows of sixteen 32-bit words, turned: for kernels of AVX-512 that are written in intrinsics.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "headlight/tensor.h"

namespace headlight::kernels {

// out[i][j] = in[j][i]; rows of `out` are `step` words apart.
__attribute__((target("avx512f"))) inline void transpose_words(const __m512i (&in)[16], std::int32_t* out,
                                                               Index step) {
  __m512i a[16], b[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    a[i] = _mm512_unpacklo_epi32(in[i], in[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi32(in[i], in[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    b[i] = _mm512_unpacklo_epi64(a[i], a[i + 2]);
    b[i + 1] = _mm512_unpackhi_epi64(a[i], a[i + 2]);
    b[i + 2] = _mm512_unpacklo_epi64(a[i + 1], a[i + 3]);
    b[i + 3] = _mm512_unpackhi_epi64(a[i + 1], a[i + 3]);
  }
  // b[4g + i] has, in its quarters, rows 4g … 4g+3 of columns i, i+4, i+8, i+12.
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512i low = _mm512_shuffle_i32x4(b[i], b[4 + i], 0x88),
                  high = _mm512_shuffle_i32x4(b[8 + i], b[12 + i], 0x88);
    const __m512i low2 = _mm512_shuffle_i32x4(b[i], b[4 + i], 0xDD),
                  high2 = _mm512_shuffle_i32x4(b[8 + i], b[12 + i], 0xDD);
    _mm512_storeu_si512(out + i * step, _mm512_shuffle_i32x4(low, high, 0x88));
    _mm512_storeu_si512(out + (4 + i) * step, _mm512_shuffle_i32x4(low2, high2, 0x88));
    _mm512_storeu_si512(out + (8 + i) * step, _mm512_shuffle_i32x4(low, high, 0xDD));
    _mm512_storeu_si512(out + (12 + i) * step, _mm512_shuffle_i32x4(low2, high2, 0xDD));
  }
}

}  // namespace headlight::kernels
