// Attention of one head on a few short rows, as a whole: no packing, no tiles, no scratch. For calls that would spend
// more time on preparing the work than on doing it. The bits are those of the tile kernels.
#pragma once

#include <cstdint>

#include "headlight/context.h"
#include "headlight/tensor.h"

namespace headlight::kernels {

template <class T>
struct SmallCall {
  static constexpr int kRows = 16, kDim = 32;  // at most; and no more keys than a vector has lanes
  int rows = 0, keys = 0, dim = 0, value_dim = 0;
  const T *q = nullptr, *k = nullptr, *v = nullptr;
  T* out = nullptr;
  Index q_stride = 0, k_stride = 0, v_stride = 0, out_stride = 0;
  std::int32_t begin[kRows], end[kRows];  // the keys that each row sees
  T factor = 1;                           // of q, log2(e) included
  T max[kRows], sum[kRows];               // results: largest score and sum of exponentials, in base 2
};

template <class T>
struct SmallKernel {
  int lanes = 0;
  // Writes out, max and sum. False if a number is not finite; then the tile kernels handle the call.
  bool (*run)(SmallCall<T>& call) = nullptr;
};

struct SmallTable {
  SmallKernel<float> f32;
  SmallKernel<double> f64;
  template <class T>
  [[nodiscard]] const SmallKernel<T>& of() const {
    if constexpr (sizeof(T) == 4) return f32;
    else return f64;
  }
};
[[nodiscard]] const SmallTable& small_kernels_for(SimdTarget target);

}  // namespace headlight::kernels
