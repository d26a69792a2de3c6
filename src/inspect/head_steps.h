// Computes one head's attention from one token step by step: see headlight/head_steps.h.
#pragma once

#include "headlight/head_steps.h"
#include "inspect/head_matrices.h"
#include "inspect/model_run.h"
#include "inspect/recorder.h"

namespace headlight::inspect {

using headlight::HeadSteps;
using headlight::Rotation;
using headlight::StepsRequest;
using headlight::TokenSteps;

inline constexpr double kExplainedWithin = 1e-5;  // largest difference of weights that count as equal

// Layer, head and tokens of the request must exist.
[[nodiscard]] HeadSteps head_steps(const LoadedModel& loaded, const StepsRequest& request,
                                   const Replay& replay);
// Runs the model once.
[[nodiscard]] HeadSteps head_steps(Context& ctx, const LoadedModel& loaded, const ModelInput& input,
                                   const StepsRequest& request);

}  // namespace headlight::inspect
