// Attention on all tokens of a call, or on those of this process with the others' help.
#pragma once

#include "headlight/attention.h"

namespace headlight::nn {

// attention_forward() and attention_backward(). Where the processes of a Context's team share the tokens (core/team.h), the
// tensors are of this process's tokens, and the options of the whole call.
void attend_tokens(Context& ctx, const ConstTensorView& q, const ConstTensorView& k, const ConstTensorView& v,
                   const AttentionOptions& options, const TensorView& out, const TensorView& lse);
void attend_tokens_backward(Context& ctx, const AttentionSaved& saved, const ConstTensorView& dout,
                            const AttentionOptions& options, const AttentionGrads& grads);

}  // namespace headlight::nn
