// Forward and backward pass of an adapter, in addition to those of its matrix.
#pragma once

#include "headlight/nn.h"

namespace headlight::nn {

void add_low_rank(Context& ctx, const LowRank& adapter, ConstTensorView x, TensorView y);          // y += …
void add_low_rank_input(Context& ctx, const LowRank& adapter, ConstTensorView dy, TensorView dx);  // dx += …
// Adds to the gradients of A and B, where they are trained.
void learn_low_rank(Context& ctx, LowRank& adapter, ConstTensorView x, ConstTensorView dy);
// matrix += scale·B·A, contiguous in the given layout. Sums are in float64 and each number is rounded once: in
// f32, each rank would add a rounding error of the size of the matrix, visible in the logits of the merged model.
void add_low_rank_matrix(const LowRank& adapter, WeightLayout layout, TensorView matrix);

}  // namespace headlight::nn
