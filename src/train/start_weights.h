// The weights that a run begins with, where they are not random.
#pragma once

#include <string>

#include "models/trainable.h"

namespace headlight::train {

// Rows that a model folder has for tokens; 0 for a recurrent model. Often more than its tokenizer has tokens: padded to
// a multiple that suits matrix units.
[[nodiscard]] Index stored_vocabulary(const std::string& path);

// The numbers of a model folder in place of random ones. Known buffers (models/leftovers.h) are not read. Sizes must be the same, but for the inner width of feed-forward
// layers, which may have grown: what is new keeps its random numbers on the way in and gets zeros on the way out, so that
// the wider model begins as the same function. Throws Error that names the file and the tensor.
void take_weights(const std::string& path, models::Trainable& model);

}  // namespace headlight::train
