// One way of computing attention, with the dtype it is fed: what the golden suites are run on.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "headlight/attention.h"
#include "headlight/reference.h"

namespace headlight::testing {

struct Implementation {
  std::string name;  // a test name: letters and digits
  DType dtype = DType::f64;
  std::function<void(ConstTensorView q, ConstTensorView k, ConstTensorView v, const AttentionOptions&,
                     const AttentionOutputs&)>
      run;
  std::function<void(const AttentionSaved&, ConstTensorView dout, const AttentionOptions&,
                     const AttentionGrads&)>
      backward;
};

[[nodiscard]] inline Implementation reference_implementation() {
  return {"Reference", DType::f64, &reference::attention, &reference::attention_backward};
}

inline std::ostream& operator<<(std::ostream& os, const Implementation& which) { return os << which.name; }

// Owns everything that a call can write, in the shapes the call needs; nothing packed.
struct AllOutputs {
  Tensor out, lse, max, entropy, sink_weight, weights, topk_index, topk_weight, received;

  AllOutputs(const ConstTensorView& q, const ConstTensorView& k, const ConstTensorView& v, Index top = 3) {
    const DType statistic = q.dtype() == DType::f64 ? DType::f64 : DType::f32;
    const Shape per_row{q.dim(0), q.dim(1), q.dim(2)}, per_top{q.dim(0), q.dim(1), q.dim(2), top};
    out = Tensor({q.dim(0), q.dim(1), q.dim(2), v.dim(3)}, q.dtype());
    lse = Tensor(per_row, statistic);
    max = Tensor(per_row, statistic);
    entropy = Tensor(per_row, statistic);
    sink_weight = Tensor(per_row, statistic);
    weights = Tensor({q.dim(0), q.dim(1), q.dim(2), k.dim(2)}, statistic);
    topk_index = Tensor(per_top, DType::i64);
    topk_weight = Tensor(per_top, statistic);
    received = Tensor({q.dim(0), q.dim(1), k.dim(2)}, statistic);
  }

  [[nodiscard]] AttentionOutputs views() {
    return {.out = out,
            .lse = lse,
            .max = max,
            .entropy = entropy,
            .sink_weight = sink_weight,
            .weights = weights,
            .topk_index = topk_index,
            .topk_weight = topk_weight,
            .received = received};
  }
};

// Owns the gradients of q, k and v.
struct AllGradients {
  Tensor dq, dk, dv;

  AllGradients(const ConstTensorView& q, const ConstTensorView& k, const ConstTensorView& v)
      : dq(q.shape(), q.dtype()), dk(k.shape(), k.dtype()), dv(v.shape(), v.dtype()) {}
  [[nodiscard]] AttentionGrads views() { return {dq, dk, dv}; }
};

}  // namespace headlight::testing
