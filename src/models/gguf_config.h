// What the metadata of a GGUF file says of a model, made into a config. Tensors keep their GGUF names: the
// family "gguf" (family_gguf.cc).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "io/gguf.h"
#include "models/load.h"

namespace headlight::models {

// Throws Error{input} for architectures that are not known here (with the list of those that are) and for
// numbers that make no sense together.
[[nodiscard]] DescribedTransformer describe_gguf(const io::Gguf& file);

// Throws Error{input} when a tensor was left over that would have changed what the model computes.
void check_gguf_unused(const io::Gguf& file, std::span<const std::string> unused);

}  // namespace headlight::models
