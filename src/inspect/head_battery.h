// The fixed inputs on which heads of all models are compared: prose, the same prose with its tokens shuffled, and runs of
// random tokens that occur twice. They depend only on the vocabulary.
#pragma once

#include <functional>
#include <vector>

#include "inspect/model_run.h"
#include "inspect/sides.h"

namespace headlight::inspect {

// Called with the fraction done, 0 to 1; may throw to stop the measurement.
using Progress = std::function<void(double done)>;

struct Battery {
  std::vector<ModelInput> prose, shuffled;  // without a tokenizer: random tokens
  std::vector<ModelInput> repeated;
};

// Translation models read the prose sentence by sentence and write their own translation; other models read four sentences
// at a time. Inputs are cut to the context length of the model.
[[nodiscard]] Battery make_battery(Context& ctx, const LoadedModel& loaded, const Progress& progress = {});

// Shuffles the tokens, except those added around the text. The result has no text.
[[nodiscard]] ModelInput shuffled(const ModelInput& input, std::uint64_t seed);

// Cuts the text to the context length of the model, keeping special tokens at the end. Returns whether it was cut.
bool cut_to_fit(const LoadedModel& loaded, EncodedText& encoded);

}  // namespace headlight::inspect
