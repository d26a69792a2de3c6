// Products with stored matrices: what inference does instead of multiply().
//
// Up to eight rows (decoding) stream the matrix once, where it lies. More rows go through the packed product of
// matmul.h, and have its bits for the same numbers in f32. Where the Context lets x be rounded, that is done
// beside q8_0 (16 bits) and beside the other block types (8 bits), for many rows only where integers are faster. In both a row of y has
// the same bits whatever its neighbours and however many threads there are; between the two the order of additions differs, unless the
// matrix is stored [in, out]. Decision 0011 has the reasons.
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
// The same x with several matrices: one walk over the threads, one preparation of x.
void multiply_stored(Context& ctx, ConstTensorView x, std::span<const StoredFactor> factors);

// Row `row` of a matrix as floats.
void read_row(const Context& ctx, const StoredMatrix& matrix, Index row, float* to);

}  // namespace headlight::nn
