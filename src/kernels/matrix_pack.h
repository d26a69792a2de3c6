// Shared by both kinds of bf16 products: tiles (see matrix_unit.h for the legend) are packed with AVX-512's conversions.
#pragma once

#include "kernels/matrix_unit.h"

#if defined(__x86_64__) && defined(__linux__)

// For compilers that do not enable these instructions for the whole program.
#define HEADLIGHT_BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")))

namespace headlight::kernels {

[[nodiscard]] bool has_bf16_dots();  // of AVX-512, which the packing needs too

// The four packings, and this product.
[[nodiscard]] MatrixKernels with_packing(void (*multiply)(const MatrixBlock&));

using MultiplyTiles = void (*)(const MatrixBlock& job, const std::byte* left, const std::byte* right,
                               float* c, Index c_stride, const float* bias);

// Calls `one` for a strip, or `two` for a pair of them, with each panel of the block. A pair of strips stays in the first
// cache; panels stream past it from the L2 cache. At an edge the same is computed in separate memory, for what exists of it.
void for_tiles(const MatrixBlock& job, MultiplyTiles one, MultiplyTiles two);

}  // namespace headlight::kernels

#endif
