// Predictions of a model at one position.
#pragma once

#include <optional>
#include <vector>

#include "headlight/tensor.h"
#include "headlight/tokenizer.h"

#pragma GCC visibility push(default)

namespace headlight {

struct TokenProbability {
  TokenId id = 0;
  double probability = 0, logit = 0;
};

struct Prediction {
  std::vector<TokenProbability> top;                      // most probable first; equal ones by id
  std::optional<TokenProbability> actual = std::nullopt;  // the token of the text at this position, if any
  Index rank = 0;                                         // of the actual token, from 1; 0: there is none
};

}  // namespace headlight

#pragma GCC visibility pop
