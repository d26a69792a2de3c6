// One row of the softmax in float64: what reference::attention and its backward share.
#pragma once

#include <limits>
#include <vector>

#include "attention/problem.h"

namespace headlight::reference {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A key that the query may look at, how well it matches, and its share of the attention.
struct Seen {
  Index key = 0;
  double score = 0, weight = 0;
  double kept = 1;  // what dropout multiplies the weight by when it meets the value
};

// All that one row of the softmax says. A row that sees nothing keeps these values.
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
