#include "headlight/positions.h"

#include <cmath>

#include "nn/drive.h"

namespace headlight::nn {

Tensor sinusoidal_positions(Index positions, Index width, SinusoidOrder order, DType dtype) {
  const DefaultFloatMode float_mode;
  Tensor table({positions, width}, dtype);
  const Index sines = (width + 1) / 2;
  for (Index p = 0; p < positions; ++p) {
    for (Index j = 0; j < width; ++j) {
      const bool halves = order != SinusoidOrder::alternating;
      const Index pair = halves ? j % sines : j / 2;
      const bool sine = halves ? j < sines : j % 2 == 0;
      const auto pairs = order == SinusoidOrder::halves_to_end
                             ? static_cast<double>(std::max<Index>(1, sines - 1))
                             : static_cast<double>(width) / 2;
      const double angle = static_cast<double>(p) / std::pow(10000.0, static_cast<double>(pair) / pairs);
      table.view().set(p, j, sine ? std::sin(angle) : std::cos(angle));
    }
  }
  return table;
}

Tensor alibi_slopes(Index heads, DType dtype) {
  const DefaultFloatMode float_mode;
  Tensor slopes({heads}, dtype);
  Index power = 1;
  while (2 * power <= heads) power *= 2;
  const double ratio = 8.0 / static_cast<double>(power);
  for (Index h = 0; h < heads; ++h) {
    // Beyond the power of two: exponents 1, 3, 5, … of the series for twice as many heads.
    const double exponent =
        h < power ? ratio * static_cast<double>(h + 1) : ratio / 2 * static_cast<double>(2 * (h - power) + 1);
    slopes.view().set(h, std::exp2(-exponent));
  }
  return slopes;
}

std::vector<Index> positions_of(std::span<const Index> starts) {
  std::vector<Index> positions;
  positions.reserve(static_cast<std::size_t>(starts.empty() ? 0 : starts.back()));
  for (std::size_t s = 1; s < starts.size(); ++s)
    for (Index p = 0; p < starts[s] - starts[s - 1]; ++p) positions.push_back(p);
  return positions;
}

RelativeBias::RelativeBias(const std::string& name, const RelativeBiasConfig& config, DType dtype)
    : config_(config) {
  const Index sides = config.bidirectional ? 2 : 1;
  if (config.buckets < 2 * sides || config.heads < 1 || config.max_distance <= config.buckets / sides / 2) {
    throw Error(ErrorKind::usage, "nn.config",
                concat(name, ": ", config.buckets, " buckets up to distance ", config.max_distance, " for ",
                       config.heads, " heads; need ", 2 * sides, " buckets or more and a larger distance"));
  }
  table = {name + ".weight", Tensor({config.buckets, config.heads}, dtype), {}, true};
}

Index RelativeBias::bucket(Index query_position, Index key) const {
  Index buckets = config_.buckets, first = 0, distance = query_position - key;
  if (config_.bidirectional) {
    buckets /= 2;
    if (distance < 0) first = buckets;
    distance = std::abs(distance);
  } else {
    distance = std::max<Index>(0, distance);
  }
  const Index exact = buckets / 2;
  if (distance < exact) return first + distance;
  const DefaultFloatMode float_mode;
  // In f32, like the training of these models: f64 would round some bucket boundaries differently.
  const float far =
      std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
      static_cast<float>(std::log(static_cast<double>(config_.max_distance) / static_cast<double>(exact)));
  const auto step = static_cast<Index>(far * static_cast<float>(buckets - exact));
  return first + std::min(exact + step, buckets - 1);
}

// Buckets by distance: that of query i and key j is at [j - i + queries - 1].
std::vector<Index> RelativeBias::buckets(Index first, Index queries, Index keys) const {
  std::vector<Index> list;
  for (Index d = 1 - queries; d < keys; ++d) list.push_back(bucket(first, d));
  return list;
}

Tensor RelativeBias::forward(Index first, Index queries, Index keys) const {
  const Index heads = config_.heads;
  const std::vector<Index> by_distance = buckets(first, queries, keys);
  Tensor bias = Tensor::uninitialized({1, heads, queries, keys}, table.value.dtype());
  with_type(bias.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (Index h = 0; h < heads; ++h)
      for (Index i = 0; i < queries; ++i) {
        const Index* bucket_of = by_distance.data() + queries - 1 - i;
        T* row = bias.as<T>() + (h * queries + i) * keys;
        for (Index j = 0; j < keys; ++j) row[j] = table.value.as<T>()[bucket_of[j] * heads + h];
      }
  });
  return bias;
}

void RelativeBias::backward(Index first, ConstTensorView dbias) {
  if (!table.trained) return;
  const TensorView grad = grad_of(table);
  const Index heads = config_.heads, queries = dbias.dim(2), keys = dbias.dim(3);
  const std::vector<Index> by_distance = buckets(first, queries, keys);
  with_type(dbias.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<double> sums(static_cast<std::size_t>(config_.buckets));
    for (Index h = 0; h < heads; ++h) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (Index i = 0; i < queries; ++i) {
        const Index* bucket_of = by_distance.data() + queries - 1 - i;
        const T* row = dbias.as<T>() + (h * queries + i) * keys;
        for (Index j = 0; j < keys; ++j)
          sums[static_cast<std::size_t>(bucket_of[j])] += static_cast<double>(row[j]);
      }
      for (Index b = 0; b < config_.buckets; ++b)
        grad.as<T>()[b * heads + h] += static_cast<T>(sums[static_cast<std::size_t>(b)]);
    }
  });
}

}  // namespace headlight::nn
