// Which of a few given texts a model would continue a prompt with.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headlight/run.h"

#pragma GCC visibility push(default)

namespace headlight {

struct ChoiceScore {
  std::string text;
  std::vector<TokenId> ids;    // that were scored
  double log_probability = 0;  // of these tokens after the prompt
  double share = 0;            // of the probability of all choices together
};

// One for each choice, in their order. A choice is scored with the tokens that it has right after the prompt; where
// tokens would reach across the border, it is scored with those that it has alone. Throws Error{usage} for models that
// do not write and choices that are empty or given twice.
[[nodiscard]] std::vector<ChoiceScore> score_choices(Context& ctx, const Model& model, const Prompt& prompt,
                                                     std::span<const std::string> choices,
                                                     const Progress& progress = {});

}  // namespace headlight

#pragma GCC visibility pop
