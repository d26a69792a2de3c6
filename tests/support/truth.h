// What the reference says of a case, in f64 whatever the case's dtype, and how far from it a result may
// be: the scaled error of robustness.md 2.1 and the limits of 2.2.
#pragma once

#include <string>
#include <vector>

#include "attention/accuracy.h"
#include "support/cases.h"

namespace headlight::testing {

using accuracy::exact_copy;
using accuracy::keys_of;
using accuracy::RowBound;
using accuracy::scaled_error;

// What dropout multiplies a weight by.
[[nodiscard]] double kept_factor(const Dropout& dropout, const Sequence& s, Index h, Index i, Index j);

struct Verdict {
  std::string problem;     // the first thing out of bounds; empty when all is well
  double worst_error = 0;  // the largest scaled error of `out`
};

// Arithmetic that rounds more than the case's dtype says. Zeros: nothing more.
struct Rounding {
  double unit = 0;     // rounding unit of scores and sums
  double weights = 0;  // relative error of each weight that meets a value
  double least = 0;    // what is smaller counts as zero
};

class Truth {
 public:
  explicit Truth(const Instance& instance);
  Truth(const Truth&) = delete;
  Truth& operator=(const Truth&) = delete;

  // Everything in `found` against the limits of the case's dtype, NaN for NaN and -inf for -inf.
  [[nodiscard]] Verdict check(const Results& found, const Rounding& rounding = {}) const;
  // The reference itself against long double, on up to 100 rows: its largest scaled error.
  [[nodiscard]] double reference_error() const { return reference_error_; }
  [[nodiscard]] const Results& results() const { return truth_; }
  [[nodiscard]] const RowBound& bound(Index b, Index h, Index token) const {
    return bounds_[row_number(b, h, token)];
  }

 private:
  class Judge;
  void find_bounds();
  void sharpen();
  [[nodiscard]] std::size_t row_number(Index b, Index h, Index token) const {
    return static_cast<std::size_t>((b * instance_.c.q_heads + h) * instance_.c.q_len + token);
  }

  const Instance& instance_;
  const Tensor q_, k_, v_;  // exact copies in f64
  Problem problem_;
  Results truth_;
  std::vector<RowBound> bounds_;  // [batch, head, query]
  std::vector<bool> sharp_;       // likewise: the truth of this row was computed in long double
  Tensor size_, reach_;           // per element of out: A = Σ p|v|, and Σ |v|
  double reference_error_ = 0;
};

}  // namespace headlight::testing
