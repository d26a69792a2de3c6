// Attention on one tile with bf16 products and f32 sums: q, k, v, the weights multiplied with values and the
// gradients of scores are rounded to bf16. The softmax between the products is that of the f32 kernels.
#pragma once

#include "headlight/context.h"
#include "kernels/attention_tile.h"
#include "kernels/backward_tile.h"

namespace headlight::kernels {

// For inputs of f16 and bf16. Null where the CPU or the target has no such products: the matrix unit (AMX), AVX-512 with
// avx512_bf16. The first chooses the faster of the other two.
[[nodiscard]] const AttentionKernels<float>* bf16_attention_for(SimdTarget target);
[[nodiscard]] const AttentionKernels<float>* matrix_attention_for(SimdTarget target);
[[nodiscard]] const AttentionKernels<float>* bf16_dots_attention_for(SimdTarget target);
[[nodiscard]] const BackwardKernels<float>* bf16_backward_for(SimdTarget target);
[[nodiscard]] const BackwardKernels<float>* matrix_backward_for(SimdTarget target);

}  // namespace headlight::kernels
