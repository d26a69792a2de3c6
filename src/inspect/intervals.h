// How sure a share or a mean is: intervals that hold the true one in 95 of 100 cases.
#pragma once

#include <cstdint>
#include <span>

#include "headlight/tensor.h"

namespace headlight::inspect {

struct Interval {
  double low = 0, high = 0;
};

// Of `right` in `all` (Wilson, 1927). All of nothing: 0 to 1.
[[nodiscard]] Interval wilson(Index right, Index all);

// Of a mean: the middle 95 % of the means of 1,000 draws with replacement (Efron, 1979). The same for the same numbers.
[[nodiscard]] Interval bootstrap_mean(std::span<const double> values);

// So many right of so many asked.
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

// Items are dealt out in turn: one half chooses the head, the other says how good it is. Choosing and scoring on the
// same items would flatter the best of many heads.
enum class Half : std::uint8_t { choosing, scoring };
inline constexpr std::size_t kHalves = 2;
[[nodiscard]] constexpr Half half_of(Index item) { return item % 2 == 0 ? Half::choosing : Half::scoring; }

}  // namespace headlight::inspect
