// The scaled error E: the distance of an output from the exact result, on one scale for every shape and dtype.
//
//   E = (|out - exact| - 2^-125·Σ|v|) / (u · (1 + K' + √n) · Σ p|v|)
//
// u is the rounding unit of the arithmetic, n the number of keys a row sees, p the exact weights and K' a bound
// on its scores: K' = max_j(|scale|·Σ|q||k| + |bias| + slope·|i-j|) + |sink|. A key that a bias
// of 1e38 leaves without any weight does not count.
// `headlight doctor` and the tests use the same functions.
#pragma once

#include <span>
#include <vector>

#include "attention/problem.h"

namespace headlight::accuracy {

// The limit of E: 4, and 8 for f64, where the reference itself rounds.
[[nodiscard]] double error_limit(DType dtype);
// u of the arithmetic that a dtype is computed in.
[[nodiscard]] double rounding_unit(DType dtype);
// Weights below this may be flushed to zero; their contribution is not counted.
[[nodiscard]] double flushed_weight(DType dtype);
// Half the distance between neighbours of x in a 16-bit type; 0 for the wide types.
[[nodiscard]] double half_step(DType dtype, double x);

// An f64 tensor of the same numbers, dense.
[[nodiscard]] Tensor exact_copy(const ConstTensorView& x);
// The visible keys of a row: its range of keys, the mask, and biases of -inf.
[[nodiscard]] std::vector<Index> keys_of(const Problem& p, const Sequence& s, Index h, Index i);

// The error limits of one row.
struct RowBound {
  Index keys = 0;       // n, the keys it may see
  double hardness = 0;  // K', the largest sum of magnitudes behind one of its scores
  // A bias shared by all keys with any weight, so large that the rest of their scores is lost in rounding: it
  // shifts lse and the largest score but no weight. Not part of K'.
  double lift = 0;
};
// Of a problem in f64, with contiguous rows.
[[nodiscard]] RowBound row_bound(const Problem& p, const Sequence& s, Index h, Index i,
                                 std::span<const Index> keys);

// |found - truth| less `slack`, in units of u·(1 + K' + √n)·size; infinite when only one is NaN.
[[nodiscard]] double scaled_error(double found, double truth, double u, const RowBound& row, double size,
                                  double slack);

// The exact answer (the reference in f64, on the inputs as they are stored) and, for each element of
// the output, what its error is measured by.
class Exact {
 public:
  // Judges arithmetic of the inputs' dtype, unless another is named.
  Exact(ConstTensorView q, ConstTensorView k, ConstTensorView v, const AttentionOptions& options)
      : Exact(q, k, v, options, q.dtype()) {}
  Exact(ConstTensorView q, ConstTensorView k, ConstTensorView v, const AttentionOptions& options,
        DType judged);

  // The largest E over all elements of an output of this call; infinite for an unexpected NaN or
  // infinity. 16-bit outputs may in addition be off by half a unit in the last place.
  [[nodiscard]] double scaled_error(ConstTensorView out) const;
  // The largest |Σ weights + sink - 1| over the rows that see a key, in units of 4u·√keys: ≤ 1 is good.
  [[nodiscard]] double row_sum_error(ConstTensorView weights, ConstTensorView sink_weight) const;

 private:
  void measure_row(const Problem& p, const Sequence& s, Index h, Index i);

  DType dtype_;
  Tensor out_, weights_;        // f64
  Tensor size_, reach_;         // f64, like out_: Σ p|v|, and Σ|v|
  std::vector<RowBound> rows_;  // [batch, head, query]
};

}  // namespace headlight::accuracy
