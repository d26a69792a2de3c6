// Probabilities of one row of logits. All rankings of tokens are made here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headlight/prediction.h"

namespace headlight::inspect {

// log Σ exp(x) in float64.
[[nodiscard]] double log_sum_exp(std::span<const float> logits);
// Token ids by logit, largest first; of equals the lower id first.
[[nodiscard]] std::vector<TokenId> likeliest(std::span<const float> logits, Index count);
// The rank in that order, 1 for the most likely token.
[[nodiscard]] Index rank_of(std::span<const float> logits, TokenId token);

// `actual`: the token at that position of the text; -1: none.
[[nodiscard]] Prediction predict(std::span<const float> logits, Index count, TokenId actual);

}  // namespace headlight::inspect
