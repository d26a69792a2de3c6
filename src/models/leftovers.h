// Tensors in files that models do not use. Any other unused tensor is an error, because it would change the
// computation.
#pragma once

#include <string_view>

#include "models/transformer_config.h"

namespace headlight::models {

// Buffers that are recomputed, copies of a shared table, and prediction heads for tasks that are not used with the
// model here.
[[nodiscard]] bool is_known_leftover(const TransformerConfig& config, std::string_view tensor);

}  // namespace headlight::models
