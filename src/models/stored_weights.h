// Matrices for inference: memory-mapped, in the precision of their file.
#pragma once

#include <string_view>

#include "headlight/parameters.h"
#include "models/weights.h"

namespace headlight::models {

// Whether a matrix of this type can be used without conversion.
[[nodiscard]] bool is_usable(std::string_view type);

// Assigns a tensor of the files to a parameter, whose stored matrix has this shape and no data. F32, F16, BF16,
// I8 with its scales and the block types of headlight/stored_matrix.h are mapped and not copied; other types, and data that
// is not aligned to its elements, are converted to f32 in memory.
void give_matrix(const WeightSource& weights, const StoredTensor& tensor, Parameter& parameter);

}  // namespace headlight::models
