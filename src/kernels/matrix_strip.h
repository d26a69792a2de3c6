// Attention in bf16 with f32 sums on the matrix unit (AMX): up to 32 rows at once with panels of bf16_strip.h. For CPUs
// that matrix_kernels_for() accepts; plain C++ outside of matrix_strip.cc.
//
// An element of the product is a sum of steps of 16 pairs, counted from where `a` and `b` begin. The unit sums a step's even
// and its odd elements of depth apart, and then adds both to the sum. So bits depend on where steps begin, which is
// always a multiple of 16 pairs inside a tile of keys; zeros change nothing.
#pragma once

#include "kernels/bf16_strip.h"

namespace headlight::kernels {

inline constexpr int kMatrixRows = 32, kStepPairs = 16;

struct MatrixStrip {
  int rows = 0, columns = 0;  // up to kMatrixRows and kBf16Panel; columns are whole vectors
  int pairs = 0;              // depth
  const Pair* a = nullptr;
  Index a_stride = 0;
  const Pair* b = nullptr;  // [pairs][kBf16Panel]
  float* c = nullptr;
  Index c_stride = 0;
  const float* alpha = nullptr;  // per row; null: c is not read
  float factor = 1;              // of the product, when c is not read
};
// Before products of that many rows; costs about as much as a small product.
void set_matrix_rows(int rows);
// c = a·b·factor, or c = c·alpha + a·b with the product started from zero.
void multiply_on_matrix_unit(const MatrixStrip& strip);
// Turns up to 32 columns of f32 rows: out[column][r/2] is the pair of rows r and r + 1 in bf16, zero for rows that do not
// exist, up to a whole step.
void turn_rows(const float* rows, Index stride, int count, Pair* out, Index out_stride);
// After the last of several products. Until then, the system saves and restores the unit's state for this thread.
void release_matrix_unit();

}  // namespace headlight::kernels
