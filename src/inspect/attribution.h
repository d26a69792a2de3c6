// Direct effects of heads on the logit of a token, along the residual stream.
#pragma once

#include <cstdint>

#include "headlight/effects.h"
#include "inspect/model_run.h"
#include "inspect/recorder.h"

namespace headlight::inspect {

using headlight::Attribution;
using headlight::HeadContribution;

// For the stack that computes the logits: the encoder of an encoder-decoder acts only through cross-attention. Throws
// Error{usage} for models without logits, or with an activation between the residual stream and the logits.
[[nodiscard]] Attribution attribute_logit(Context& ctx, const LoadedModel& loaded, const ModelInput& input,
                                          Index row, std::int32_t token);

}  // namespace headlight::inspect
