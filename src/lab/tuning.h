// Fair comparisons: every kind of model gets the learning rate that serves it best.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace headlight::lab {

// A seed for tuning alone: no reported result uses it.
inline constexpr std::uint64_t kTuningSeed = 1000;

// The rate with the highest score, the first one if several have it. One rate alone is not tried.
[[nodiscard]] double best_rate(std::span<const double> rates,
                               const std::function<double(double rate)>& score);

// "Each model has the best of the learning rates 0.001, 0.003 and 0.01, tried with another seed."
[[nodiscard]] std::string tuning_text(std::span<const double> rates);

}  // namespace headlight::lab
