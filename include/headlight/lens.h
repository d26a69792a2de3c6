// The logit lens: predictions from the residual stream after each layer.
#pragma once

#include <vector>

#include "headlight/run.h"

#pragma GCC visibility push(default)

namespace headlight {

// Predictions at one position: [0] from the embedding, [n] from the residual stream after layer n - 1, the last one the
// run's own. All but the last are derived: the stream between layers goes through the final norm and the output
// matrix, which were trained for the end of the model. Throws Error{usage} for a run that has no logits or did not keep
// the inputs of its layers.
[[nodiscard]] std::vector<Prediction> logit_lens(const Run& run, Index position, Index count,
                                                 Context& ctx = default_context(),
                                                 const Progress& progress = {});

}  // namespace headlight

#pragma GCC visibility pop
