// Every head knocked out once: which of them matter for these predictions.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "inspect/ablation.h"
#include "inspect/effect.h"
#include "inspect/loss_task.h"

namespace headlight::inspect {

struct SweepRequest {
  std::vector<Part> parts;
  Change change = Change::zero;          // or mean
  const HeadOutputs* outputs = nullptr;  // of mean
  Index row = 0;                         // of the predictions
  std::int32_t token = 0;                // whose probability is followed there
  const LossTask* task = nullptr;        // a text to measure the loss on; null: none
};

struct SweptHead {
  Part part = Part::decoder;
  HeadPlace head;
  double kl = 0;               // at the row, nats
  double mean_kl = 0;          // over all rows
  double log_probability = 0;  // of the token: after - before
  double loss = 0;             // of the text's own tokens: after - before
  std::optional<double> direct =
      std::nullopt;  // what it adds to the token's logit by itself, where that is known
  std::optional<double> task_loss = std::nullopt;  // over the task: after - before
};

// By part, layer, head. One run of the model for each head, and one over the task.
[[nodiscard]] std::vector<SweptHead> sweep_heads(Context& ctx, const Subject& subject,
                                                 const Question& question, const SweepRequest& request,
                                                 const std::function<void(double done)>& progress = nullptr);

}  // namespace headlight::inspect
