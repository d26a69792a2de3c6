// One head of a short sequence as a whole: all its keys are in one tile. Strip by strip, so that scores and
// queries stay in the first cache; products with the values go to the output without a copy in between. The bits are
// those of the tile kernels.
#pragma once

#include <cstdint>

#include "headlight/context.h"
#include "headlight/tensor.h"
#include "kernels/attention_tile.h"

namespace headlight::kernels {

template <class T>
struct ShortUnit {
  static constexpr int kKeys = 64, kDim = 128;  // at most
  int rows = 0, dim = 0, value_dim = 0;         // at most kMaxRows; value_dim in whole vectors
  T factor = 1;                                 // of q, log2(e) included
  const T* q[kMaxRows];                         // the caller's rows
  T* out[kMaxRows];
  const std::int32_t* begin = nullptr;  // per row: the run of keys it sees
  const std::int32_t* end = nullptr;
  const T* keys = nullptr;    // packed panels
  const T* values = nullptr;  // the caller's rows
  Index value_stride = 0;
  FetchAhead* ahead = nullptr;
  T max[kMaxRows], sum[kMaxRows];  // results: largest score and sum of exponentials, in base 2
};

// Writes out, max and sum. False if a number is not finite; then the tile kernels handle the unit.
template <class T>
using ShortKernel = bool (*)(ShortUnit<T>& unit);

struct ShortTable {
  ShortKernel<float> f32 = nullptr;
  ShortKernel<double> f64 = nullptr;
  template <class T>
  [[nodiscard]] ShortKernel<T> of() const {
    if constexpr (sizeof(T) == 4) return f32;
    else return f64;
  }
};
[[nodiscard]] const ShortTable& short_kernels_for(SimdTarget target);

}  // namespace headlight::kernels
