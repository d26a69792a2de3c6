#include "inspect/exact_layers.h"

#include <cmath>

namespace headlight::inspect {

Numbers row_of(ConstTensorView x, Index row) {
  Numbers out(static_cast<std::size_t>(x.dim(1)));
  for (std::size_t d = 0; d < out.size(); ++d) out[d] = x.at(row, static_cast<Index>(d));
  return out;
}

NormNumbers::NormNumbers(const nn::Norm& norm, const nn::NormConfig& of, std::optional<Range> part)
    : config(of) {
  const Range range = part.value_or(Range{0, norm.weight.value.dim(0)});
  for (Index i = range.begin; i < range.end; ++i) {
    weight.push_back(norm.weight.value.at(i) + (of.weight_plus_one ? 1 : 0));
    bias.push_back(norm.bias.value.empty() ? 0 : norm.bias.value.at(i));
  }
}

Numbers NormNumbers::apply(const Numbers& x, double* mean_out, double* size_out, const Numbers* row) const {
  const Numbers& all = row != nullptr ? *row : x;
  const auto n = static_cast<double>(all.size());
  double mean = 0, squares = 0;
  if (config.kind == nn::NormKind::layer) {
    for (const double value : all) mean += value;
    mean /= n;
  }
  for (const double value : all) squares += (value - mean) * (value - mean);
  const double size = std::sqrt(squares / n + config.eps);
  Numbers y(x.size());
  for (std::size_t d = 0; d < x.size(); ++d) y[d] = (x[d] - mean) / size * weight[d] + bias[d];
  if (mean_out != nullptr) *mean_out = mean;
  if (size_out != nullptr) *size_out = size;
  return y;
}

Numbers turned(const Rotation& rotation, const Numbers& x, Index position) {
  Numbers y = x;
  for (Index j = 0; j < rotation.half; ++j) {
    const auto first = static_cast<std::size_t>(rotation.first + (rotation.interleaved ? 2 * j : j));
    const auto second =
        static_cast<std::size_t>(rotation.first + (rotation.interleaved ? 2 * j + 1 : j + rotation.half));
    const double angle = static_cast<double>(position) * rotation.frequencies[static_cast<std::size_t>(j)];
    const double c = std::cos(angle) * rotation.factor, s = std::sin(angle) * rotation.factor;
    y[first] = x[first] * c - x[second] * s;
    y[second] = x[second] * c + x[first] * s;
  }
  return y;
}

}  // namespace headlight::inspect
