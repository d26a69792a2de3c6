// The loss of a model over a text or over translated sentences, as it is or with heads changed.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inspect/loaded_model.h"

namespace headlight::inspect {

using TextPair = std::pair<std::string, std::string>;  // source, translation

// What a model is to predict, cut into parts of some thousand tokens.
struct LossTask {
  std::vector<models::Batch> parts;
  Index targets = 0;
};

// A decoder on a text: windows of as many tokens as it reads (at most 512), each token predicted from those before it
// in its window. `limit` > 0: of the first so many tokens. Throws Error{usage} for other models, Error{input} for a
// text of fewer than two tokens.
[[nodiscard]] LossTask text_task(const LoadedModel& loaded, std::string_view text, Index limit);
// An encoder-decoder on translations that are given; pairs that are too long for it are passed over.
[[nodiscard]] LossTask pair_task(const LoadedModel& loaded, std::span<const TextPair> pairs);

struct MeasuredLoss {
  double mean = 0;                 // nats per token
  std::vector<double> parts = {};  // the same of each part
  Index targets = 0;
};
[[nodiscard]] MeasuredLoss measure_loss(Context& ctx, const LoadedModel& loaded, const LossTask& task,
                                        Intervention* intervention = nullptr,
                                        const std::function<void(double done)>& progress = nullptr);

// The standard error of the mean difference, from the parts; 0 when there are fewer than two.
[[nodiscard]] double error_of_difference(const MeasuredLoss& before, const MeasuredLoss& after);

}  // namespace headlight::inspect
