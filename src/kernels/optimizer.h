// One optimizer step over contiguous parameters. Plain C++; the arithmetic is in
// optimizer.cc, once per SIMD target. An element's bits depend on its own numbers alone, so the pieces
// may be cut anywhere and run on any thread.
#pragma once

#include <cstdint>

#include "headlight/context.h"

namespace headlight::kernels {

// Values shared by all elements of a step:
//   g = grad·grad_scale    m = beta1·m + (1 - beta1)·g    v = beta2·v + (1 - beta2)·g²
//   value = value·keep - rate·m / (sqrt(v)·root_scale + epsilon)
struct AdamNumbers {
  float grad_scale = 1;  // clipping
  float beta1 = 0, beta2 = 0;
  float keep = 1;        // 1 - learning rate · weight decay
  float rate = 0;        // learning rate / (1 - beta1^step)
  float root_scale = 1;  // 1 / sqrt(1 - beta2^step)
  float epsilon = 0;
  float average_keep = 0;  // averaged = average_keep·averaged + (1 - average_keep)·value
};

struct AdamPiece {
  float* value = nullptr;
  float* grad = nullptr;  // left at zero, ready for the next step
  float* m = nullptr;
  float* v = nullptr;
  float* averaged = nullptr;  // null: no average is kept
  std::int64_t size = 0;
};

struct OptimizerKernels {
  void (*adam)(const AdamNumbers& numbers, const AdamPiece& piece);
  // Σ x², in double, in an order that depends only on `size`.
  double (*sum_of_squares)(const float* x, std::int64_t size);
};

// The target must be one that supported_targets() lists.
[[nodiscard]] const OptimizerKernels& optimizer_kernels_for(SimdTarget target);

}  // namespace headlight::kernels
