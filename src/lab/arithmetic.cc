#include "lab/arithmetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace headlight::lab {

std::vector<double> softmax(std::span<const double> scores, double scale) {
  std::vector<double> weights;
  const double top = *std::max_element(scores.begin(), scores.end());
  for (const double x : scores) weights.push_back(std::exp((x - top) * scale));
  const double sum = sum_of(weights);
  for (double& w : weights) w /= sum;
  return weights;
}

double sum_of(std::span<const double> x) {
  double sum = 0;
  for (const double value : x) sum += value;
  return sum;
}

double entropy(std::span<const double> weights) {
  double sum = 0;
  for (const double w : weights)
    if (w > 0) sum -= w * std::log(w);
  return sum;
}

double largest_slope(std::span<const double> weights) {
  double largest = 0;
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t j = 0; j < weights.size(); ++j)
      largest = std::max(largest, std::abs(weights[i] * ((i == j ? 1 : 0) - weights[j])));
  return largest;
}

std::string digits(std::span<const double> x, int decimals) {
  std::string out;
  for (const double value : x) {
    const std::string text = fmt::format("{:.{}f}", value, decimals);
    out += (out.empty() ? "" : " ") + (std::stod(text) == 0 && text.starts_with('-') ? text.substr(1) : text);
  }
  return out;
}

}  // namespace headlight::lab
