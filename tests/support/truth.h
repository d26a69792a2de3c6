// What the reference says of a case, in f64 whatever the case's dtype, and how far from it a result may
// be: the scaled error of robustness.md 2.1 and the limits of 2.2.
#pragma once

#include <string>
#include <vector>

#include "attention/problem.h"
#include "support/cases.h"

namespace headlight::testing {

// An f64 tensor of the same numbers, dense.
[[nodiscard]] Tensor exact_copy(const ConstTensorView& x);
[[nodiscard]] double broadcast_at(const Broadcast& b, Index s, Index h, Index i, Index j);
// The keys of a row by the shared meaning: the run of keys, the mask, and biases of -inf.
[[nodiscard]] std::vector<Index> keys_of(const Problem& p, const Sequence& s, Index h, Index i);

// What dropout multiplies a weight by.
[[nodiscard]] double kept_factor(const Dropout& dropout, const Sequence& s, Index h, Index i, Index j);

// How hard one row is: what its limits are made of.
struct RowBound {
  Index keys = 0;       // n, the keys it may see
  double hardness = 0;  // K', the largest sum of magnitudes behind one of its scores
  bool sharp = false;   // the truth of this row was computed in long double
};

struct Verdict {
  std::string problem;     // the first thing out of bounds; empty when all is well
  double worst_error = 0;  // the largest scaled error of `out`
};

class Truth {
 public:
  explicit Truth(const Instance& instance);
  Truth(const Truth&) = delete;
  Truth& operator=(const Truth&) = delete;

  // Everything in `found` against the limits of the case's dtype, NaN for NaN and -inf for -inf.
  [[nodiscard]] Verdict check(const Results& found) const;
  // The reference itself against long double, on up to 100 rows: its largest scaled error.
  [[nodiscard]] double reference_error() const { return reference_error_; }
  [[nodiscard]] const Results& results() const { return truth_; }
  [[nodiscard]] const RowBound& bound(Index b, Index h, Index token) const {
    return bounds_[static_cast<std::size_t>((b * instance_.c.q_heads + h) * instance_.c.q_len + token)];
  }

 private:
  class Judge;
  void find_bounds();
  void sharpen();

  const Instance& instance_;
  const Tensor q_, k_, v_;  // exact copies in f64
  Problem problem_;
  Results truth_;
  std::vector<RowBound> bounds_;  // [batch, head, query]
  Tensor size_, reach_;           // per element of out: A = Σ p|v|, and Σ |v|
  double reference_error_ = 0;
};

// |found - truth| in units of u·(1 + K' + √n)·A, less what weights below the smallest normal carry.
[[nodiscard]] double scaled_error(double found, double truth, double u, const RowBound& row, double size,
                                  double slack);

}  // namespace headlight::testing
