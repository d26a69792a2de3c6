// One row of logits as probabilities: the only place where tokens are ranked.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headlight/prediction.h"

namespace headlight::inspect {

// log Σ exp(x) in float64.
[[nodiscard]] double log_sum_exp(std::span<const float> logits);
// Largest first; of equals the lower number comes first.
[[nodiscard]] std::vector<TokenId> likeliest(std::span<const float> logits, Index count);
// From 1 for the most likely, in the same order.
[[nodiscard]] Index rank_of(std::span<const float> logits, TokenId token);

// `actual`: the token that the text has there; -1: none.
[[nodiscard]] Prediction predict(std::span<const float> logits, Index count, TokenId actual);

}  // namespace headlight::inspect
