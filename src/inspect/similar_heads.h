// Heads that do the same thing: cosine between all weights of two heads on the same texts.
#pragma once

#include <span>
#include <vector>

#include "headlight/head_labels.h"
#include "inspect/head_battery.h"
#include "inspect/recorder.h"

namespace headlight::inspect {

using headlight::SimilarHead;

// Every pair of heads of one part, on the prose and the repeated tokens of the battery.
class HeadSimilarity {
 public:
  // Throws Error{resource} when the weights would take more than 1 GiB.
  HeadSimilarity(Context& ctx, const LoadedModel& loaded, const Battery& battery, Part part);
  // The others, most similar first; of equals the first in the model.
  [[nodiscard]] std::vector<SimilarHead> like(const HeadPlace& place) const;

 private:
  [[nodiscard]] double cosine(std::size_t a, std::size_t b) const;
  Index heads_ = 1;                          // of a layer
  std::vector<std::vector<float>> weights_;  // of each head, all texts one after the other
  std::vector<double> lengths_;
};

}  // namespace headlight::inspect
