// One row of the softmax in float64, shared by reference::attention and its backward pass.
#pragma once

#include <limits>
#include <vector>

#include "attention/problem.h"

namespace headlight::reference {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A visible key, its score, and its weight.
struct Seen {
  Index key = 0;
  double score = 0, weight = 0;
  double kept = 1;  // dropout's factor of the weight in the output
};

// One row of the softmax. A row that sees no key keeps these values.
struct Row {
  std::vector<Seen> keys;   // in key order
  double max = -kInfinity;  // largest score of a key; the sink does not count
  double lse = -kInfinity;  // log of the denominator, the sink included
  double sink_weight = 0;
  double entropy = 0;
};

[[nodiscard]] double match(const Problem& p, const Sequence& s, Index h, Index i, Index j);
[[nodiscard]] double score(const Problem& p, const Sequence& s, Index h, Index i, Index j);
[[nodiscard]] Row softmax_row(const Problem& p, const Sequence& s, Index h, Index i);

}  // namespace headlight::reference
