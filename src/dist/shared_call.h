// A sequence-parallel call, checked on all ranks: this rank's shards, and the sizes of the whole call.
#pragma once

#include "attention/problem.h"
#include "headlight/dist.h"

namespace headlight::dist {

struct SharedCall {
  Context& ctx;
  Group& group;
  ConstTensorView q, k, v;  // this rank's shards
  const AttentionOptions& options;
  SequenceParallel how;  // method is heads or ring
  Shards q_shards, k_shards;
  Problem whole;  // sizes, sequences and options of the whole call; its views have no memory behind them
  DType sums;     // f64 for f64, f32 for all others

  [[nodiscard]] int rank() const { return group.rank(); }
  [[nodiscard]] int ranks() const { return group.size(); }
  [[nodiscard]] std::vector<Range> q_runs() const { return q_shards.runs(rank()); }
};

// Local arguments of a call, before they are compared. `backward` is null for a forward call.
struct LocalCall {
  const char* who;
  ConstTensorView q, k, v;
  const AttentionOptions& options;
  const SequenceParallel& how;
  AttentionOutputs outputs = {};
  const AttentionSaved* saved = nullptr;
  ConstTensorView dout = {};
  const AttentionGrads* grads = nullptr;
};

// Collective: throws RankError on all ranks or on none.
[[nodiscard]] SharedCall share_call(Context& ctx, Group& group, const LocalCall& local);

void forward_by_heads(const SharedCall& call, const AttentionOutputs& outputs);
void backward_by_heads(const SharedCall& call, const AttentionSaved& saved, const ConstTensorView& dout,
                       const AttentionGrads& grads);
void forward_by_ring(const SharedCall& call, const AttentionOutputs& outputs);
void backward_by_ring(const SharedCall& call, const AttentionSaved& saved, const ConstTensorView& dout,
                      const AttentionGrads& grads);

}  // namespace headlight::dist
