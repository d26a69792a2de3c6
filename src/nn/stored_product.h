// Products with stored matrices, used by inference instead of multiply().
//
// Up to eight rows (decoding) read the matrix once, in place. More rows use the packed product of matmul.h and have its
// bits for the same numbers in f32. If the Context allows rounding (Activations::rounded), x is rounded to 16 bits for
// q8_0 (many rows: for int8 too) and to 8 bits for the other block types; for many rows only where integers are faster. A
// row of y has the same bits for any neighbouring rows and any number of threads. The paths for few and for many rows add
// in different orders, unless the matrix is stored [in, out]. Decision 0011 explains the design.
#pragma once

#include <span>

#include "headlight/nn.h"
#include "headlight/stored_matrix.h"

namespace headlight::nn {

// y = x·wᵀ + bias, or x·w for a matrix [in, out]. f32.
struct StoredFactor {
  const StoredMatrix& w;
  TensorView y;  // [rows, columns], any row stride
  ConstTensorView bias = {};
  WeightLayout layout = WeightLayout::out_in;
};
// The same x with several matrices: one parallel loop, one preparation of x.
void multiply_stored(Context& ctx, ConstTensorView x, std::span<const StoredFactor> factors);

// Row `row` of a matrix as floats.
void read_row(const Context& ctx, const StoredMatrix& matrix, Index row, float* to);

}  // namespace headlight::nn
