// Mean outputs of heads, the replacement for a head in mean ablation.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "inspect/ablation.h"
#include "inspect/loaded_model.h"

namespace headlight::inspect {

// Twenty plain sentences, used if no text is given.
[[nodiscard]] std::span<const std::string> usual_sentences();

struct MeanOutputs {
  HeadOutputs outputs;  // one row for each layer
  Index sentences = 0, tokens = 0;
};
// Means over all tokens of the sentences, each run separately; a translation model also runs on its own translations.
// Blank lines and those longer than the context are skipped. Throws Error{usage} without a tokenizer, Error{input} if no
// sentence is left.
[[nodiscard]] MeanOutputs mean_outputs(Context& ctx, const LoadedModel& loaded,
                                       std::span<const std::string> sentences,
                                       const std::function<void(double done)>& progress = nullptr);

}  // namespace headlight::inspect
