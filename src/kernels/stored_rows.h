// Products with a matrix that is read in its stored type: f32, f16, bf16, q8_0 or int8 in stored_rows.cc, the other block types of
// headlight/stored_matrix.h in block_rows.cc.
//
// A few rows of x read the matrix once, at the speed of memory: multiply_few(). Many rows go through the packed
// product of gemm.h: pack_*() writes its right side in f32, converted on the way.
//
// Legend.  x [rows, depth]   w [columns, depth], or [depth, columns] for *_in_out   y [rows, columns]
#pragma once

#include "headlight/context.h"
#include "headlight/stored_matrix.h"

namespace headlight::kernels {

// Rows of a stored matrix, starting at any of them.
struct StoredRows {
  StoredType type = StoredType::f32;
  const std::byte* data = nullptr;
  Index step = 0;  // from row to row, in bytes
  const float* scales = nullptr;
  [[nodiscard]] StoredRows from(Index row) const {
    return {type, data + row * step, step, scales == nullptr ? nullptr : scales + row};
  }
};

inline constexpr int kFewRows = 8;
// Steps of depth between two visits of y, in packed products and in products with few rows [in, out].
inline constexpr Index kStoredDepth = 384;

// The order in which multiply_few() reads x: even and odd elements separated for bf16; rounded to 16 bits for q8_0 and to
// 8 bits for the types of block_rows.cc, if rounding is allowed; unchanged for all others.
enum class ArrangedFor { bf16, rounding, others, bytes };

struct FewRows {
  StoredRows w;
  Index columns = 0, depth = 0;
  int rows = 0;  // 1 … kFewRows
  const float* x = nullptr;
  Index x_stride = 0;
  float* y = nullptr;
  Index y_stride = 0;
  const float* bias = nullptr;  // [columns] or null
  bool rounded = false;         // x was arranged for rounding, or in bytes
};

struct StoredKernels {
  // A row of x in one of its orders: arranged_size(depth) floats.
  Index (*arranged_size)(Index depth);
  void (*arrange)(ArrangedFor how, const float* x, Index depth, float* to);
  // y = x·wᵀ + bias with w [columns, depth] and arranged x. Every element is a sum of partial sums, some per lane,
  // whose order depends on the type, the depth and the SIMD target alone: not on rows, columns or neighbours.
  void (*multiply_few)(const FewRows& job);
  // y = x·w with w [depth, columns], of which the job sees `columns` from column `first` on; no bias. Rows
  // of y have room for columns rounded up to 16. Over kStoredDepth steps the bits are those of the packed product.
  void (*sum_few_in_out)(const FewRows& job, Index first);
  // Elements [first, first + n) of the first row, as floats; first is a multiple of 32, n one of a block's part (32) too.
  void (*widen)(const StoredRows& w, Index first, int n, float* to);
  // Panels of gemm.h: `columns` of them, `depth` steps from step `k` on (a multiple of 32).
  void (*pack)(const StoredRows& w, Index k, int columns, int depth, float* panels);
  void (*pack_in_out)(const StoredRows& w, Index first, int columns, int depth, float* panels);
};
[[nodiscard]] const StoredKernels& stored_kernels_for(SimdTarget target);
// For the types with is_block_type(). They have no *_in_out: a block would span several rows of x.
[[nodiscard]] const StoredKernels& block_kernels_for(SimdTarget target);
[[nodiscard]] constexpr bool is_block_type(StoredType type) { return type > StoredType::int8; }
[[nodiscard]] inline const StoredKernels& stored_kernels_for(SimdTarget target, StoredType type) {
  return is_block_type(type) ? block_kernels_for(target) : stored_kernels_for(target);
}

}  // namespace headlight::kernels
