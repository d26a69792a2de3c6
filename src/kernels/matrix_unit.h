// Products of many rows in bf16 with sums in f32, on CPUs that have instructions for them: the matrix unit of Intel's
// Xeons (AMX), one of whose instructions multiplies 16 rows by 16 columns over 32 steps of depth, or the dot products of
// AVX-512 (avx512_bf16), 16 columns over two steps.
//
// A number is one bf16, or the sum of two: 16 bits of significand in place of 24. The product of the two smaller parts,
// below 2^-17 of the whole, is left out. Two parts take two or three instructions, which only a matrix unit has time for.
//
// Legend.  A step is 32 elements of depth; a tile is 1 KB of bf16, the last step of a depth is filled up with zeros.
//          left [strip of 16 rows][step][high, low][row][element]
//          right [panel of 32 columns][step][high, low][half of 16 columns][pair][column][element of the pair]
#pragma once

#include "headlight/context.h"
#include "kernels/stored_rows.h"

namespace headlight::kernels {

struct MatrixBlock {
  int rows = 0, columns = 0, steps = 0;
  int left_parts = 2, right_parts = 1;
  const std::byte* left = nullptr;
  Index left_steps = 0;  // from strip to strip
  const std::byte* right = nullptr;
  float* c = nullptr;
  Index c_stride = 0;
  const float* bias = nullptr;  // [columns], only when `accumulate` is not set
  bool accumulate = false;
};

struct MatrixKernels {
  static constexpr int kStrip = 16, kPanel = 32, kStep = 32;
  static constexpr Index kTileBytes = 1024;
  [[nodiscard]] static constexpr Index steps_of(Index depth) { return (depth + kStep - 1) / kStep; }

  // Up to kStrip rows of x; transposed: x is [depth][stride].
  void (*pack_left)(const float* x, Index stride, int rows, Index depth, int parts, std::byte* left);
  void (*pack_left_transposed)(const float* x, Index stride, int rows, Index depth, int parts,
                               std::byte* left);
  // `columns` of w, `depth` steps (at most kStoredDepth) from step `k` on (a multiple of 32). Weights of bf16 are one part,
  // and numbers of int8 too: without their scales.
  void (*pack_right)(const StoredRows& w, Index k, int columns, int depth, int parts, std::byte* right);
  void (*pack_right_in_out)(const StoredRows& w, Index first, int columns, int depth, int parts,
                            std::byte* right);
  // c = left·right + bias, or c += left·right. An element is one chain of additions in the order of the depth, starting
  // with the bias or with c, in whatever block it is computed.
  void (*multiply)(const MatrixBlock& block);
};

// The matrix unit, for numbers of any parts. Null if the CPU, the target or the operating system does not support it.
[[nodiscard]] const MatrixKernels* matrix_kernels_for(SimdTarget target);
// For numbers of one part a side only: the matrix unit, else AVX-512's dot products, else null.
[[nodiscard]] const MatrixKernels* bf16_kernels_for(SimdTarget target);

}  // namespace headlight::kernels
