// What layers do with whole rows: norms, and softmax with its loss. Plain C++; the arithmetic is in
// row_kernels.cc, once per SIMD target. A row's bits depend only on that row.
#pragma once

#include "headlight/tensor.h"

namespace headlight::kernels {

// y = (s - mean)·rstd·(weight + offset) + bias with s = x + add, row by row. Strides count elements.
template <class T>
struct NormRows {
  Index rows = 0, width = 0;
  const T* x = nullptr;
  Index x_stride = 0;
  const T* add = nullptr;  // null: nothing is added, and `sum` is not written
  Index add_stride = 0;
  T* sum = nullptr;  // x + add; may be `add`
  Index sum_stride = 0;
  T* y = nullptr;  // must not be x or add
  Index y_stride = 0;
  const T* weight = nullptr;
  const T* bias = nullptr;  // may be null
  T* mean = nullptr;        // [rows]; not written unless `centered`
  T* rstd = nullptr;        // [rows]
  T eps = 0;
  T offset = 0;          // 1 for norms that store weight - 1
  bool centered = true;  // false: root mean square, no mean
};

template <class T>
struct NormBackRows {
  Index rows = 0, width = 0;
  const T* x = nullptr;  // what was normalized
  Index x_stride = 0;
  const T* mean = nullptr;
  const T* rstd = nullptr;
  const T* weight = nullptr;
  T offset = 0;
  const T* dy = nullptr;
  Index dy_stride = 0;
  const T* add = nullptr;  // added to dx; null: nothing
  Index add_stride = 0;
  T* dx = nullptr;  // may be dy or add
  Index dx_stride = 0;
  T* dweight = nullptr;  // [width], added to
  T* dbias = nullptr;    // [width], added to; may be null
  bool centered = true;
};

// Cross-entropy of one row of logits, which become their own gradient.
template <class T>
struct LossRow {
  T* logits = nullptr;
  Index classes = 0, target = 0;
  T smoothing = 0;       // this much of the target is spread evenly over all classes
  T cap = 0;             // > 0: the logits are cap·tanh(logit/cap) first
  T scale = 1;           // of the gradient
  bool gradient = true;  // false: the logits are unchanged, apart from `cap`
};
struct LossValue {
  double smoothed = 0, plain = 0;
  bool correct = false;
};

template <class T>
struct RowKernels {
  void (*norm)(const NormRows<T>& rows);
  void (*norm_back)(const NormBackRows<T>& rows);
  LossValue (*loss)(const LossRow<T>& row);
  void (*softcap)(T cap, T* x, Index n);           // x = cap·tanh(x/cap)
  void (*log_softmax)(const T* x, T* y, Index n);  // y may be x
};

struct RowTable {
  RowKernels<float> f32;
  RowKernels<double> f64;
  template <class T>
  [[nodiscard]] const RowKernels<T>& of() const {
    if constexpr (sizeof(T) == 4) return f32;
    else return f64;
  }
};

}  // namespace headlight::kernels
