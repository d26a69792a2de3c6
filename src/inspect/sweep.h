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
  std::vector<Head> heads = {};          // only these; none: all of the parts
  Change change = Change::zero;          // or mean
  const HeadOutputs* outputs = nullptr;  // of mean
  Index row = 0;                         // of the predictions
  std::int32_t token = 0;                // whose probability is followed there
  const LossTask* task = nullptr;        // a text to measure the loss on; null: none
};

using headlight::SweptHead;

// By part, layer, head, or as they were asked for. One run of the model for each head, and one over the task.
[[nodiscard]] std::vector<SweptHead> sweep_heads(Context& ctx, const LoadedModel& loaded,
                                                 const ModelInput& input, const SweepRequest& request,
                                                 const std::function<void(double done)>& progress = nullptr);

}  // namespace headlight::inspect
