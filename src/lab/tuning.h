// Fair comparisons: every kind of model is trained with its best learning rate.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/json_writer.h"

namespace headlight::lab {

// The seed for tuning, which is not used for reported results.
inline constexpr std::uint64_t kTuningSeed = 1000;

struct TriedRate {
  double rate = 0, score = 0;
};
struct TunedRate {
  double rate = 0;                    // the best
  std::vector<TriedRate> tried = {};  // from the smallest to the largest; empty if there was only one
};

// The rate with the highest score, the smallest of equals. `rates` ascend by one factor. As long as the best one is the
// smallest or the largest tried and its neighbour is worse, the next one beyond it is tried too: a best rate at the end
// of a grid would mean that the grid is too small. A single rate is returned without a trial.
[[nodiscard]] TunedRate tuned_rate(std::span<const double> rates,
                                   const std::function<double(double rate)>& score);

// "Each model has its best learning rate. Tried with another seed: …".
[[nodiscard]] std::string tuning_text(std::span<const double> rates);
// The field "tried" of a model: a list of rate and score.
void write_tried(io::JsonWriter& w, const TunedRate& tuned);

}  // namespace headlight::lab
