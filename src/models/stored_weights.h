// Matrices of files for models that are run: used where they are mapped, in the precision they have.
#pragma once

#include "headlight/parameters.h"
#include "models/load.h"

namespace headlight::models {

// Gives a parameter, whose stored matrix has this shape and no data, the tensor at `place`. F32, F16, BF16
// and I8 with its factors are mapped and not copied; other floats, and data that is not aligned to its
// elements, become f32 in memory.
void give_matrix(const WeightFiles& files, const WeightFiles::Place& place, Parameter& parameter);

}  // namespace headlight::models
