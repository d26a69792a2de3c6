// Direct effects of heads on the logit of a token, along the residual stream.
#pragma once

#include <cstdint>

#include "headlight/effects.h"
#include "inspect/model_run.h"
#include "inspect/recorder.h"

namespace headlight::inspect {

using headlight::Attribution;
using headlight::HeadContribution;

// Heads of the stack that the logits come from: the encoder of an encoder-decoder acts only through cross-attention.
// Throws Error{usage} for models without logits, or with an activation between the stream and them.
[[nodiscard]] Attribution attribute_logit(Context& ctx, const LoadedModel& loaded, const ModelInput& input,
                                          Index row, std::int32_t token, Observer* observer = nullptr);

}  // namespace headlight::inspect
