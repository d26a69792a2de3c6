// Shared by families with experts.
#pragma once

#include "models/hyperparameters.h"

namespace headlight::models {

// The number of experts, and of experts per token.
[[nodiscard]] nn::ExpertsConfig read_experts(const Hyperparameters& h);

}  // namespace headlight::models
