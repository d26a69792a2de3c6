// The weights that a run begins with, where they are not random.
#pragma once

#include <string>

#include "models/trainable.h"

namespace headlight::train {

// The numbers of a model folder in place of random ones. Sizes must be the same, but for the inner width of feed-forward
// layers, which may have grown: what is new keeps its random numbers on the way in and gets zeros on the way out, so that
// the wider model begins as the same function. Throws Error that names the file and the tensor.
void take_weights(const std::string& path, models::Trainable& model);

}  // namespace headlight::train
