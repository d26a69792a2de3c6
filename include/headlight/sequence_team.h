// Processes that share the tokens of sequences. dist::Group is one, over MPI.
#pragma once

#include "headlight/attention.h"
#include "headlight/context.h"
#include "headlight/team.h"
#include "headlight/tensor.h"

#pragma GCC visibility push(default)

namespace headlight {

class SequenceTeam : public Team {
 public:
  // attention_forward() and attention_backward() of calls whose tokens, along axis 2, are divided among the processes by rank:
  // process r of n has tokens length·r/n … length·(r+1)/n - 1. Options are those of the whole call. Collective.
  virtual void attend(Context& ctx, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                      const AttentionOptions& options, TensorView out, TensorView lse) = 0;
  virtual void attend_backward(Context& ctx, const AttentionSaved& saved, ConstTensorView dout,
                               const AttentionOptions& options, const AttentionGrads& grads) = 0;
};

}  // namespace headlight

#pragma GCC visibility pop
