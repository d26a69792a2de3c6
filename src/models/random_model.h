// Models of known shapes with random parameters, for speed measurements.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "headlight/stored_matrix.h"
#include "models/transformer.h"

namespace headlight::models {

// "llama-1b": 1.04 B parameters in 16 layers of width 2,048, 32 heads that share 8 key/value heads, feed-forward
// 8,192, vocabulary 32,000. "gpt2-small": Llama's layers in the sizes of the small GPT-2, 152 M parameters in 12
// layers of width 768. "tiny": for tests. Throws Error{usage} that lists the names.
[[nodiscard]] TransformerConfig known_shape(std::string_view name);

// In memory, its matrices stored as `type`. The same numbers for the same arguments.
[[nodiscard]] std::unique_ptr<Transformer> random_model(TransformerConfig config, StoredType type);

// FOLDER with config.json and model.safetensors; `type` is any but q8_0, which safetensors do not have.
// Returns the bytes of the weights.
std::int64_t write_random_model(const std::string& folder, const TransformerConfig& config, StoredType type);

}  // namespace headlight::models
