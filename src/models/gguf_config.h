// What the metadata of a GGUF file says of a model, made into a config. Tensors keep their GGUF names: the
// family "gguf" (family_gguf.cc).
#pragma once

#include "io/gguf.h"
#include "models/model_files.h"

namespace headlight::models {

// Throws Error{input} for architectures that are not known here (with the list of those that are) and for
// numbers that make no sense together.
[[nodiscard]] DescribedTransformer describe_gguf(const io::Gguf& file);

}  // namespace headlight::models
