// Dense products in bf16 with sums in f32 (kernels/matrix_unit.h), for those who allow it: numbers of two parts on the
// CPU's matrix unit, several times as fast as f32 and 2^-17 off, or of one. As everywhere a row of y has the same bits
// whatever its neighbours and however many threads there are.
#pragma once

#include <span>

#include "headlight/context.h"
#include "headlight/nn.h"
#include "kernels/stored_rows.h"
#include "nn/matmul.h"

namespace headlight::nn {

// y = x·w + bias, or y += x·w.
struct UnitFactor {
  kernels::StoredRows w;  // [columns, depth], or [depth, columns]
  WeightLayout layout = WeightLayout::out_in;
  TensorView y;  // [rows, columns], any row stride
  ConstTensorView bias = {};
  bool accumulate = false;
};
// x: [rows, depth], or [depth, rows] when transposed. With two parts (a weight of bf16 has one all the same) only where
// matrix_kernels_for(ctx.target()) has something, with one where bf16_kernels_for has.
void multiply_in_parts(Context& ctx, int parts, ConstTensorView x, Side side,
                       std::span<const UnitFactor> factors);

}  // namespace headlight::nn
