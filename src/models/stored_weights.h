// Matrices of files for models that are run: used where they are mapped, in the precision they have.
#pragma once

#include "headlight/parameters.h"
#include "models/weights.h"

namespace headlight::models {

// Gives a parameter, whose stored matrix has this shape and no data, a tensor of the files. F32, F16, BF16,
// Q8_0 and I8 with its factors are mapped and not copied; other types, and data that is not aligned to its
// elements, become f32 in memory.
void give_matrix(const WeightSource& weights, const StoredTensor& tensor, Parameter& parameter);

}  // namespace headlight::models
