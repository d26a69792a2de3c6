// What every model is given to read, so that its heads can be compared: prose, the same prose with its tokens shuffled,
// and random tokens that come twice. Always the same for the same vocabulary.
#pragma once

#include <functional>
#include <vector>

#include "inspect/model_run.h"
#include "inspect/sides.h"

namespace headlight::inspect {

// Told how much is done, 0 to 1; may throw to stop.
using Progress = std::function<void(double done)>;

struct Battery {
  std::vector<ModelInput> prose, shuffled;  // without a tokenizer: random tokens
  std::vector<ModelInput> repeated;
};

// Models that translate read the prose sentence by sentence, others four sentences at a time. What they write is their
// own translation. Nothing is longer than the model can read.
[[nodiscard]] Battery make_battery(Context& ctx, const LoadedModel& loaded, const Progress& progress = {});

// The tokens in another order; those that were put around the text stay where they are. The text is then empty.
[[nodiscard]] ModelInput shuffled(const ModelInput& input, std::uint64_t seed);

// What the model can read of it: the end is cut off, special tokens at the end are kept. Returns whether it was cut.
bool cut_to_fit(const LoadedModel& loaded, EncodedText& encoded);

}  // namespace headlight::inspect
