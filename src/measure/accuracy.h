// How far an output is from the truth, on one scale for every shape and dtype: the scaled error E.
//
//   E = (|out - exact| - 2^-125·Σ|v|) / (u · (1 + K' + √n) · Σ p|v|)
//
// u is the rounding unit of the arithmetic, n the keys a row sees, p the exact weights and K' how
// large its scores can get: K' = max_j(|scale|·Σ|q||k| + |bias| + slope·|i-j|) + |sink|.
#pragma once

#include "headlight/attention.h"

namespace headlight::measure {

// The exact answer (the reference in f64, on the inputs as they are stored) and, for each element of
// the output, the error that counts as E = 1. Batches given by lengths are fine, packed ones are not.
class Exact {
 public:
  Exact(ConstTensorView q, ConstTensorView k, ConstTensorView v, const AttentionOptions& options);

  // The largest E over all elements of an output of this call; infinite for a NaN or an Inf that
  // should not be there. 16-bit outputs may besides be off by half a unit in their last place.
  [[nodiscard]] double scaled_error(ConstTensorView out) const;
  // The largest |Σ weights + sink - 1| over the rows that see a key, in units of 4u·√keys: ≤ 1 is good.
  [[nodiscard]] double row_sum_error(ConstTensorView weights, ConstTensorView sink_weight) const;

 private:
  DType dtype_;
  Tensor out_, weights_;       // f64
  Tensor unit_, unavoidable_;  // f64, like out_: (1 + K' + √n)·Σ p|v|, and 2^-125·Σ|v|
};

// What E may be at most: 4, and 8 for f64, where the reference itself rounds.
[[nodiscard]] double error_limit(DType dtype);

}  // namespace headlight::measure
