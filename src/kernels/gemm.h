// Dense products on packed blocks. The driver (nn/matmul.cc) packs both sides into the layout of the
// register tile and hands blocks to multiply_block(). T is float or double.
//
// Legend.  left [rows, depth]   right [depth, columns]   c [rows, columns]
// A left strip holds `strip` rows as [depth][strip], a right panel `panel` columns as [depth][panel];
// the last of them is padded with zeros.
#pragma once

#include "headlight/context.h"
#include "headlight/tensor.h"

namespace headlight::kernels {

template <class T>
struct BlockProduct {
  int rows = 0, columns = 0, depth = 0;
  const T* left = nullptr;   // packed strips
  const T* right = nullptr;  // packed panels
  Index panel_step = 0;      // from panel to panel, in elements
  T* c = nullptr;
  Index c_stride = 0;
  const T* bias = nullptr;  // [columns], added to the product; only when `accumulate` is not set
  bool accumulate = false;
};

template <class T>
struct GemmKernels {
  int strip = 0, panel = 0;
  // `rows` × `depth` of the left side into strips. Plain: source is [rows][stride]; transposed:
  // [depth][stride].
  void (*pack_left)(const T* source, Index stride, int rows, int depth, T* strips);
  void (*pack_left_transposed)(const T* source, Index stride, int rows, int depth, T* strips);
  // `depth` × `columns` of the right side into panels. Plain: source is [depth][stride]; transposed:
  // [columns][stride].
  void (*pack_right)(const T* source, Index stride, int columns, int depth, T* panels);
  void (*pack_right_transposed)(const T* source, Index stride, int columns, int depth, T* panels);
  // c = left·right (+ bias), or c += left·right with the product started from zero. Every element is
  // one chain of fused multiply-adds in the order of the depth, whatever block it is computed in.
  void (*multiply_block)(const BlockProduct<T>& block);
};

struct GemmTable {
  GemmKernels<float> f32;
  GemmKernels<double> f64;
  template <class T>
  [[nodiscard]] const GemmKernels<T>& of() const {
    if constexpr (sizeof(T) == 4) return f32;
    else return f64;
  }
};
[[nodiscard]] const GemmTable& gemm_kernels_for(SimdTarget target);

}  // namespace headlight::kernels
