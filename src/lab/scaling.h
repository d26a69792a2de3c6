// The effect of dividing scores by √d on the softmax, for random queries and keys whose numbers have mean 0 and variance 1.
#pragma once

#include "headlight/tensor.h"

namespace headlight::lab {

struct Softness {
  double entropy = 0;  // of the weights, as a share of the maximum
  double gradient =
      0;  // norm of the softmax's Jacobian: the effect of a small change of the scores on the weights
};

struct ScalingEffect {
  Softness scaled, plain;  // scores with and without the division by √d
};

// Queries and keys of `dim` numbers: the mean that `lab scaling` prints for this dim with seed 1.
[[nodiscard]] ScalingEffect scaling_effect(Index dim);

}  // namespace headlight::lab
