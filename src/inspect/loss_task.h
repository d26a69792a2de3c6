// The loss of a model on a text or on translated sentences, with or without changed heads.
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

// The tokens that a model must predict, in parts of a few thousand.
struct LossTask {
  std::vector<models::Batch> parts;
  Index targets = 0;
};

// For a decoder: the text in windows of its context length (at most 512), each token predicted from the earlier ones in
// its window; with `limit` > 0, only the first `limit` tokens. Throws Error{usage} for other models, Error{input} for
// texts of fewer than two tokens.
[[nodiscard]] LossTask text_task(const LoadedModel& loaded, std::string_view text, Index limit);
// For an encoder-decoder: given translations; pairs longer than its context are skipped.
[[nodiscard]] LossTask pair_task(const LoadedModel& loaded, std::span<const TextPair> pairs);

struct MeasuredLoss {
  double mean = 0;                 // nats per token
  std::vector<double> parts = {};  // the same for each part
  Index targets = 0;
};
[[nodiscard]] MeasuredLoss measure_loss(Context& ctx, const LoadedModel& loaded, const LossTask& task,
                                        Intervention* intervention = nullptr,
                                        const std::function<void(double done)>& progress = nullptr);

// The standard error of the mean difference, from the parts; 0 when there are fewer than two.
[[nodiscard]] double error_of_difference(const MeasuredLoss& before, const MeasuredLoss& after);

}  // namespace headlight::inspect
