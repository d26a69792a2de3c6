// Mean outputs of heads, the replacement for a head in mean ablation.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "inspect/ablation.h"
#include "inspect/loaded_model.h"

namespace headlight::inspect {

// Twenty plain sentences, for want of a text.
[[nodiscard]] std::span<const std::string> usual_sentences();

struct MeanOutputs {
  HeadOutputs outputs;  // one row for each layer
  Index sentences = 0, tokens = 0;
};
// Over all tokens of the sentences, each read by itself; a translator reads along what it makes of them. Blank lines
// and those that are too long for the model are passed over. Throws Error{usage} without a tokenizer, Error{input}
// when no sentence is left.
[[nodiscard]] MeanOutputs mean_outputs(Context& ctx, const LoadedModel& loaded,
                                       std::span<const std::string> sentences,
                                       const std::function<void(double done)>& progress = nullptr);

}  // namespace headlight::inspect
