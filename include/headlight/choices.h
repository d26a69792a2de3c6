// Probabilities of given continuations of a prompt.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headlight/run.h"

#pragma GCC visibility push(default)

namespace headlight {

struct ChoiceScore {
  std::string text;
  std::vector<TokenId> ids;    // the scored tokens
  double log_probability = 0;  // of these tokens after the prompt
  double share = 0;            // of the probability of all choices together
};

// One score per choice, in the same order. A choice is tokenized together with the prompt; if a token would span the
// boundary, the choice is tokenized alone. Throws Error{usage} for models that do not generate text, and for choices that
// are empty or repeated.
[[nodiscard]] std::vector<ChoiceScore> score_choices(Context& ctx, const Model& model, const Prompt& prompt,
                                                     std::span<const std::string> choices,
                                                     const Progress& progress = {});

}  // namespace headlight

#pragma GCC visibility pop
