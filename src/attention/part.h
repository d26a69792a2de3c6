// Calls on a part of a larger one: some of its items, heads, queries and keys.
#pragma once

#include "core/random.h"
#include "headlight/attention.h"

namespace headlight {

// attention_forward() and attention_backward() with the dropout of the part that begins at `from`.
void forward_part(Context& ctx, const ConstTensorView& q, const ConstTensorView& k, const ConstTensorView& v,
                  const AttentionOptions& options, const DropoutOrigin& from,
                  const AttentionOutputs& outputs);
void backward_part(Context& ctx, const AttentionSaved& saved, const ConstTensorView& dout,
                   const AttentionOptions& options, const DropoutOrigin& from, const AttentionGrads& grads);

}  // namespace headlight
