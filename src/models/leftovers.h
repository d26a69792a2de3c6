// Tensors that files have and models do not want. Any other tensor without a place in the model would change what it
// computes, so it is refused.
#pragma once

#include <string_view>

#include "models/transformer_config.h"

namespace headlight::models {

// Buffers that are recomputed, copies of a shared table, and prediction heads for tasks that are not used with the
// model here.
[[nodiscard]] bool is_known_leftover(const TransformerConfig& config, std::string_view tensor);

}  // namespace headlight::models
