// The models of headlight serve.
#pragma once

#include <vector>

#include "cli/model_input.h"
#include "serve/api.h"

namespace headlight::cli {

// The requested models, or the default one; then all others in the model folders, which the page can switch to. Other
// machines get only the requested ones. A training run stands for its checkpoints, the newest first.
[[nodiscard]] std::vector<serve::ModelPlace> served_models(const ModelList& models, bool to_network);

}  // namespace headlight::cli
