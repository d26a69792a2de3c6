// Training steps as workloads of `headlight bench`: whole models on made-up tokens, forward, backward and
// optimizer, and attention as a layer of its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/context.h"

namespace headlight::measure {

class TrainStep {
 public:
  virtual ~TrainStep() = default;
  virtual void run(Context& ctx) = 0;
  [[nodiscard]] virtual double flops() const = 0;
  [[nodiscard]] virtual double tokens() const = 0;
  // What a step must keep: parameters with gradients and optimizer state, and activations saved for the
  // way back, as bytes.
  [[nodiscard]] virtual double parameter_bytes() const = 0;
};

struct TrainStepName {
  std::string_view name, shape;
};
// gpt_step, attention_layer, translation_step.
[[nodiscard]] const std::vector<TrainStepName>& train_steps();
[[nodiscard]] std::unique_ptr<TrainStep> make_train_step(std::string_view name);

}  // namespace headlight::measure
