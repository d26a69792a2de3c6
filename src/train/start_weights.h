// Initial parameters of a run that are read from a model.
#pragma once

#include <string>

#include "models/trainable.h"

namespace headlight::train {

// Rows that a model folder has for tokens; 0 for a recurrent model. Often more than its tokenizer has tokens: padded to
// a multiple that suits matrix units.
[[nodiscard]] Index stored_vocabulary(const std::string& path);

// Replaces the random parameters by those of a model folder. Known buffers (models/leftovers.h) are not read. Sizes must be
// equal, except for the inner width of feed-forward layers, which may be larger: additional columns keep their random
// numbers on the input side and are zero on the output side, so that the wider model starts as the same function. Throws
// Error that names the file and the tensor.
void take_weights(const std::string& path, models::Trainable& model);

}  // namespace headlight::train
