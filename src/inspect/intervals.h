// 95 % confidence intervals of shares and means.
#pragma once

#include <cstdint>
#include <span>

#include "headlight/tensor.h"

namespace headlight::inspect {

struct Interval {
  double low = 0, high = 0;
};

// Of the share `right` of `all` (Wilson, 1927); 0 to 1 if `all` is 0.
[[nodiscard]] Interval wilson(Index right, Index all);

// Of a mean, by bootstrap with 1,000 resamples (Efron, 1979). Deterministic.
[[nodiscard]] Interval bootstrap_mean(std::span<const double> values);

// A share: `right` of `all`.
struct Share {
  Index right = 0, all = 0;
  [[nodiscard]] double value() const {
    return all > 0 ? static_cast<double>(right) / static_cast<double>(all) : 0;
  }
  [[nodiscard]] Interval interval() const { return wilson(right, all); }
  void add(bool is_right) {
    ++all;
    right += is_right ? 1 : 0;
  }
};

// Items alternate between two halves: one selects the head, the other scores it. Scoring the best of many heads on the items
// that selected it would overestimate it.
enum class Half : std::uint8_t { choosing, scoring };
inline constexpr std::size_t kHalves = 2;
[[nodiscard]] constexpr Half half_of(Index item) { return item % 2 == 0 ? Half::choosing : Half::scoring; }

}  // namespace headlight::inspect
