// Finds similar heads, by the cosine between all weights of two heads on the same texts.
#pragma once

#include <span>
#include <vector>

#include "headlight/head_labels.h"
#include "inspect/head_battery.h"
#include "inspect/recorder.h"

namespace headlight::inspect {

using headlight::SimilarHead;

// Compares every pair of heads of one part, on the prose and the repeated tokens of head_battery.h.
class HeadSimilarity {
 public:
  // Throws Error{resource} if the weights would take more than 1 GiB.
  HeadSimilarity(Context& ctx, const LoadedModel& loaded, const Battery& battery, Part part);
  // The other heads, most similar first, equals in the order of the model.
  [[nodiscard]] std::vector<SimilarHead> like(const HeadPlace& place) const;

 private:
  [[nodiscard]] double cosine(std::size_t a, std::size_t b) const;
  Index heads_ = 1;                          // of a layer
  std::vector<std::vector<float>> weights_;  // of each head, all texts one after the other
  std::vector<double> lengths_;
};

}  // namespace headlight::inspect
