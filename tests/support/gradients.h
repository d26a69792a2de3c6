// The memory of a backward call on an Instance, and how far from the truth its gradients may be: the
// scaled error of robustness.md 2.1 and the limits of 2.2.
#pragma once

#include <string>
#include <vector>

#include "attention/problem.h"
#include "support/cases.h"
#include "support/truth.h"

namespace headlight::testing {

// What a backward call reads besides the Instance. dout holds NaN and infinities in rows that see nothing.
struct BackwardInputs {
  GuardedTensor dout, out, lse;

  explicit BackwardInputs(const Instance& instance);
  [[nodiscard]] AttentionSaved saved(const Instance& instance) const {
    return {instance.q.view(), instance.k.view(), instance.v.view(), out.view(), lse.view()};
  }
};

// Everything that a backward call on an Instance may write, prefilled with NaN; dbias and dsinks are
// there when the case has a bias and sinks.
struct Gradients {
  GuardedTensor dq, dk, dv, dbias, dsinks;

  Gradients(const Instance& instance, DType dtype);
  [[nodiscard]] AttentionGrads views() const {
    return {dq.view(), dk.view(), dv.view(), dbias.view(), dsinks.view()};
  }
  [[nodiscard]] bool gaps_intact() const;
  [[nodiscard]] bool same_bits(const Gradients& other) const;
};

// The gradients once more, by loops of their own with long double sums, and for each element the sum of
// the magnitudes behind it.
class GradientTruth {
 public:
  // `out` and `lse` are what the call was given, in any dtype. `exact`: they were the case's own in f64
  // while the call had its own rounding of them; that rounding then counts as the call's.
  GradientTruth(const Instance& instance, const ConstTensorView& dout, const ConstTensorView& out,
                const ConstTensorView& lse, bool exact = false);

  // `dtype` is that of the call that found them: the case's, or f64 for the reference.
  [[nodiscard]] Verdict check(const Gradients& found, DType dtype, const Rounding& rounding = {}) const;

 private:
  struct Sum {
    long double value = 0;
    double size = 0;   // Σ of magnitudes, each times its row's 1 + K' + √n
    double flush = 0;  // Σ of what weights below the smallest normal would carry
    double terms = 0;
    bool excused = false;  // some row of it cannot be had in this dtype
    void add(long double x, double magnitude, double rounds, double carried) {
      value += x, size += magnitude * rounds, flush += carried, terms += 1;
      excused |= rounds == 0;
    }
  };
  struct Sums {
    std::vector<Sum> list;
    Index stride[4] = {0, 0, 0, 0};
    explicit Sums(const Shape& shape);
    Sum& at(Index a, Index b, Index c, Index d) {
      return list[static_cast<std::size_t>(a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3])];
    }
  };
  void add_row(const Problem& p, const Sequence& s, Index h, Index i, const Tensor& dout, const Tensor& out,
               double lse, bool exact);
  void check_one(const char* name, const GuardedTensor& found, const Sums& truth, DType dtype,
                 const Rounding& rounding, Verdict& verdict) const;

  const Case& c_;
  const Tensor q_, k_, v_;
  Sums dq_, dk_, dv_, dbias_, dsinks_;
};

}  // namespace headlight::testing
