// Which heads speak for a token: what each adds to its logit by the direct way, along the stream.
#pragma once

#include <cstdint>

#include "headlight/effects.h"
#include "inspect/recorder.h"
#include "inspect/subject.h"

namespace headlight::inspect {

using headlight::Attribution;
using headlight::HeadContribution;

// Heads of the stack that the logits come from: an encoder-decoder's encoder speaks through cross-attention alone.
// Throws Error{usage} for models without logits, or with an activation between the stream and them.
[[nodiscard]] Attribution attribute_logit(Context& ctx, const Subject& subject, const Question& question,
                                          Index row, std::int32_t token);

}  // namespace headlight::inspect
