// Norms and rotations of one token in float64, as a reader computes them by hand.
#pragma once

#include <optional>

#include "headlight/head_steps.h"
#include "headlight/layers.h"

namespace headlight::inspect {

[[nodiscard]] Numbers row_of(ConstTensorView x, Index row);

// A norm's parameters as they are used.
struct NormNumbers {
  nn::NormConfig config;
  Numbers weight, bias;

  // The parameters of these channels; of all unless given.
  NormNumbers(const nn::Norm& norm, const nn::NormConfig& of, std::optional<Range> part = std::nullopt);
  // The norm of x, or of a part of a row when `row` is all of it. Mean and size are written where not null.
  [[nodiscard]] Numbers apply(const Numbers& x, double* mean_out, double* size_out,
                              const Numbers* row = nullptr) const;
};

[[nodiscard]] Numbers turned(const Rotation& rotation, const Numbers& x, Index position);

}  // namespace headlight::inspect
