// Fair comparisons: every kind of model is trained with its best learning rate.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace headlight::lab {

// A seed used only for tuning, not for reported results.
inline constexpr std::uint64_t kTuningSeed = 1000;

// The rate with the highest score, the first of equals. A single rate is returned without a trial.
[[nodiscard]] double best_rate(std::span<const double> rates,
                               const std::function<double(double rate)>& score);

// "Each model has the best of the learning rates 0.001, 0.003 and 0.01, tried with another seed."
[[nodiscard]] std::string tuning_text(std::span<const double> rates);

}  // namespace headlight::lab
