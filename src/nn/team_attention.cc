#include "nn/team_attention.h"

#include "core/team.h"
#include "headlight/error.h"
#include "headlight/sequence_team.h"

namespace headlight::nn {
namespace {

// Null: this process has all tokens.
SequenceTeam* sequence_team(const Context& ctx) {
  const TokenShare* share = tokens_of(ctx);
  if (share == nullptr) return nullptr;
  auto* team = dynamic_cast<SequenceTeam*>(share->team);
  if (team == nullptr)
    throw Error(ErrorKind::usage, "nn.tokens", "attention: this team cannot share tokens; dist::Group can");
  return team;
}

}  // namespace

void attend_tokens(Context& ctx, const ConstTensorView& q, const ConstTensorView& k, const ConstTensorView& v,
                   const AttentionOptions& options, const TensorView& out, const TensorView& lse) {
  if (SequenceTeam* team = sequence_team(ctx)) team->attend(ctx, q, k, v, options, out, lse);
  else attention_forward(ctx, q, k, v, options, out, lse);
}

void attend_tokens_backward(Context& ctx, const AttentionSaved& saved, const ConstTensorView& dout,
                            const AttentionOptions& options, const AttentionGrads& grads) {
  if (SequenceTeam* team = sequence_team(ctx)) team->attend_backward(ctx, saved, dout, options, grads);
  else attention_backward(ctx, saved, dout, options, grads);
}

}  // namespace headlight::nn
