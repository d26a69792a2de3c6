// One training run of the playground, step by step, with its current state for display.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headlight/head_place.h"
#include "playground/toy_settings.h"
#include "train/learner.h"

namespace headlight::playground {

// The model's result for the probe: every head's weights, and the predicted word after every token.
struct ToyLook {
  std::vector<std::uint8_t> maps;  // [layer, head, query, key], weights · 255; hidden keys are 0
  std::vector<std::int32_t> says;  // by token
};

struct ToyFrame {
  std::int64_t step = 0;
  double seconds = 0;   // of training so far
  double loss = 0;      // mean since the frame before; of step 0, that of the evaluation cases
  double accuracy = 0;  // share of right answers on unseen cases
  std::size_t probe = 0;
  ToyLook look;
};

// Results without some heads.
struct ToyAblation {
  double accuracy = 0, before = 0;
  ToyLook look;
};

class ToyRun {
 public:
  explicit ToyRun(Context& ctx, const ToySettings& settings);

  [[nodiscard]] const ToySettings& settings() const noexcept { return settings_; }
  [[nodiscard]] const ToyTask& task() const noexcept { return task_; }
  [[nodiscard]] Index parameters() const { return parameters_; }
  [[nodiscard]] bool finished() const noexcept { return learner_.finished(); }
  [[nodiscard]] std::int64_t steps() const noexcept { return learner_.steps(); }

  // Throws Error{numeric} when the loss is not finite.
  void step();
  // Mean loss since the last call, or NaN without a step between.
  [[nodiscard]] double take_loss();
  [[nodiscard]] double accuracy() const;
  [[nodiscard]] ToyLook look(const ToyCase& probe) const;
  // Throws Error{usage} for a head that does not exist.
  [[nodiscard]] ToyAblation without(const ToyCase& probe, std::span<const HeadPlace> heads) const;
  // The folder PARENT/NAME: config.json, model.safetensors, tokenizer.json. Throws Error{usage} for a model that no
  // known format can describe (no mask, no residual connections), Error{file}.
  void save(const std::string& parent, const std::string& name);

 private:
  [[nodiscard]] const models::Transformer& model() const { return model_; }
  [[nodiscard]] ToyLook look(const ToyCase& probe, const models::RunOptions& options) const;
  [[nodiscard]] double accuracy(const models::RunOptions& options) const;

  Context& ctx_;
  ToySettings settings_;
  ToyTask task_;
  std::unique_ptr<models::Transformer> made_;  // until the learner has it
  models::Transformer& model_;
  Index parameters_;
  train::Learner learner_;
  double loss_ = 0;
  std::int64_t losses_ = 0;
};

}  // namespace headlight::playground
