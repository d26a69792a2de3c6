// Every head removed in turn: its effect on these predictions.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "inspect/ablation.h"
#include "inspect/effect.h"
#include "inspect/loss_task.h"
#include "inspect/model_run.h"

namespace headlight::inspect {

struct SweepRequest {
  std::vector<Part> parts;
  std::vector<Head> heads = {};          // empty: all heads of the parts
  Change change = Change::zero;          // or mean
  const HeadOutputs* outputs = nullptr;  // for mean
  Index row = 0;                         // row of the predictions to report
  std::int32_t token = 0;                // report its probability in that row
  const LossTask* task = nullptr;        // measure the loss on it; null: no loss
};

using headlight::SweptHead;

// Results by part, layer and head, or in the order of `heads`. Runs the model once per head, and again over the task.
[[nodiscard]] std::vector<SweptHead> sweep_heads(Context& ctx, const LoadedModel& loaded,
                                                 const ModelInput& input, const SweepRequest& request,
                                                 const std::function<void(double done)>& progress = nullptr);

}  // namespace headlight::inspect
