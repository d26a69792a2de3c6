// Inside Block: how sublayers add to the residual stream.
#pragma once

#include "headlight/nn.h"
#include "nn/attention.h"
#include "nn/drive.h"

namespace headlight::nn {

// The sublayers of a block, as dropout numbers them.
enum class StepPlace : std::uint64_t { attention = 0, cross = 1, feed_forward = 2 };

[[nodiscard]] inline Dropout step_dropout(const BlockConfig& config, const BlockCall& call, StepPlace place) {
  const int number = call.self.layer >= 0 ? call.self.layer : config.attention.layer;
  const auto layer = static_cast<std::uint64_t>(number) * kPlacesPerLayer;
  return {call.dropout_seed != 0 ? config.dropout : 0, call.dropout_seed,
          layer + static_cast<std::uint64_t>(place)};
}

}  // namespace headlight::nn
