// What families with experts share.
#pragma once

#include "models/hyperparameters.h"

namespace headlight::models {

// How many there are, and how many a token goes to.
[[nodiscard]] nn::ExpertsConfig read_experts(const Hyperparameters& h);

}  // namespace headlight::models
