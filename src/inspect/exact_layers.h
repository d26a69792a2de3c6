// Norms and rotations of one token in float64, written as they would be computed by hand.
#pragma once

#include <optional>

#include "headlight/head_steps.h"
#include "headlight/layers.h"

namespace headlight::inspect {

[[nodiscard]] Numbers row_of(ConstTensorView x, Index row);

// The parameters of a norm in float64.
struct NormNumbers {
  nn::NormConfig config;
  Numbers weight, bias;

  // The parameters of the given channels [all].
  NormNumbers(const nn::Norm& norm, const nn::NormConfig& of, std::optional<Range> part = std::nullopt);
  // The norm of x. If x is a part of a row, `row` is the whole row. Mean and size are returned if not null.
  [[nodiscard]] Numbers apply(const Numbers& x, double* mean_out, double* size_out,
                              const Numbers* row = nullptr) const;
};

[[nodiscard]] Numbers turned(const Rotation& rotation, const Numbers& x, Index position);

}  // namespace headlight::inspect
