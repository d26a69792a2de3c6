// Dense products on the CPU's matrix unit, where numbers are sums of two bf16 (kernels/matrix_unit.h): several times as
// fast as f32 and 2^-17 off, for those who allow it. As everywhere a row of y has the same bits whatever its neighbours
// and however many threads there are.
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
// x: [rows, depth], or [depth, rows] when transposed. Only where matrix_kernels_for(ctx.target()) has something.
void multiply_on_unit(Context& ctx, ConstTensorView x, Side side, std::span<const UnitFactor> factors);

}  // namespace headlight::nn
