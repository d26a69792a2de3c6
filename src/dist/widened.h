// Shards in the accumulation type (f16 and bf16 as f32), so that a result made of parts is rounded once.
#pragma once

#include "dist/parts.h"

namespace headlight::dist {

// Converts `from` to Sum, row by row; both are [batch, head, token, dim].
void widen(const ConstTensorView& from, const TensorView& to);
// Rounds to the dtype of `to`, which may equal that of `from`.
void narrow(const ConstTensorView& from, const TensorView& to);
// to += from, both f32 or both f64.
void add_rows(const TensorView& to, const ConstTensorView& from);

// The view itself, or a copy in the accumulation type.
class Widened {
 public:
  Widened(const ConstTensorView& view, DType sums) : view_(view) {
    if (view.dtype() == sums) return;
    copy_ = Tensor::uninitialized(view.shape(), sums);
    widen(view, copy_);
    view_ = copy_.view();
  }
  Widened(const Widened&) = delete;
  Widened& operator=(const Widened&) = delete;
  [[nodiscard]] const ConstTensorView& view() const { return view_; }

 private:
  ConstTensorView view_;
  Tensor copy_;
};

}  // namespace headlight::dist
