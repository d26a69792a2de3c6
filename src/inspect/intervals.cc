#include "inspect/intervals.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/dice.h"

namespace headlight::inspect {
namespace {

constexpr double kZ = 1.959963984540054;  // 95 % of a normal distribution lie within
constexpr std::size_t kDraws = 1000;
constexpr std::uint64_t kSeed = 1979;
constexpr std::uint32_t kBootstrap = 103;

}  // namespace

Interval wilson(Index right, Index all) {
  if (all <= 0) return {0, 1};
  const auto n = static_cast<double>(all);
  const double p = static_cast<double>(right) / n, z2 = kZ * kZ / n;
  const double middle = (p + z2 / 2) / (1 + z2);
  const double reach = kZ * std::sqrt(p * (1 - p) / n + z2 / (4 * n)) / (1 + z2);
  return {std::max(0.0, middle - reach), std::min(1.0, middle + reach)};
}

Interval bootstrap_mean(std::span<const double> values) {
  if (values.empty()) return {};
  const auto count = static_cast<Index>(values.size());
  std::vector<double> means;
  for (std::size_t draw = 0; draw < kDraws; ++draw) {
    Dice dice(kSeed, kBootstrap, draw);
    double sum = 0;
    for (Index i = 0; i < count; ++i) sum += values[static_cast<std::size_t>(dice.below(count))];
    means.push_back(sum / static_cast<double>(count));
  }
  std::sort(means.begin(), means.end());
  constexpr std::size_t cut = kDraws / 40;
  return {means[cut - 1], means[kDraws - cut]};
}

}  // namespace headlight::inspect
