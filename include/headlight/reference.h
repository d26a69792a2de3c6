// Attention as readable code: float64, plain loops, no SIMD, no threads, any dtype. It has the
// same contract as attention_forward() and is the reference of every test.
#pragma once

#include "headlight/attention.h"

#pragma GCC visibility push(default)

namespace headlight::reference {

void attention(ConstTensorView q, ConstTensorView k, ConstTensorView v, const AttentionOptions& options,
               const AttentionOutputs& outputs);

void attention_backward(const AttentionSaved& saved, ConstTensorView dout, const AttentionOptions& options,
                        const AttentionGrads& grads);

}  // namespace headlight::reference

#pragma GCC visibility pop
