// Training steps as workloads of `headlight bench`: whole models on random tokens, forward, backward and
// optimizer, and attention as a separate layer.
#pragma once

#include <memory>
#include <string_view>

#include "headlight/context.h"
#include "models/transformer_config.h"

namespace headlight::measure {

class TrainStep {
 public:
  virtual ~TrainStep() = default;
  virtual void run(Context& ctx) = 0;
  [[nodiscard]] virtual double flops() const = 0;
  [[nodiscard]] virtual double tokens() const = 0;
  [[nodiscard]] virtual Index parameters() = 0;  // trained numbers
};

// The model of the bucket gpt_step, and its batch.
inline constexpr models::Sizes kGptStep{
    .vocabulary = 8192, .width = 384, .layers = 6, .heads = 6, .context = 256};
inline constexpr Index kGptStepRows = 8;

// Such a step of other sizes, on `rows` sequences that fill the context.
[[nodiscard]] std::unique_ptr<TrainStep> make_gpt_step(const models::Sizes& sizes, Index rows);

// By the name of one of step_workloads().
[[nodiscard]] std::unique_ptr<TrainStep> make_train_step(std::string_view name);

}  // namespace headlight::measure
