// Arithmetic for examples by hand, in float64.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace headlight::lab {

// exp(x·scale), divided by their sum.
[[nodiscard]] std::vector<double> softmax(std::span<const double> scores, double scale = 1);
[[nodiscard]] double sum_of(std::span<const double> x);
[[nodiscard]] double entropy(std::span<const double> weights);  // nats
// Largest |entry| of softmax's derivative, p_i·(δ_ij - p_j): the largest factor of a gradient.
[[nodiscard]] double largest_slope(std::span<const double> weights);
// "0.3175 0.0175 0.0013 0.6638"
[[nodiscard]] std::string digits(std::span<const double> x, int decimals = 4);

}  // namespace headlight::lab
