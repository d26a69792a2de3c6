// One driver for all packed products. A product has a shared side, which is packed first, by free workers, and
// a side that each task packs for itself, one block of depth after the other. The product chooses the kernels and the
// shared side:
//
//   matmul.cc          f32 and f64: the right side is shared, tasks take rows and columns of c
//   column_product.cc  stored matrices, rounded products: the left side is shared, tasks take columns of matrices
//
// No division into tasks changes a bit: an element of c is one chain of additions over the depth, in blocks of fixed length.
#pragma once

#include <algorithm>
#include <span>

#include "core/run_tasks.h"
#include "headlight/context.h"
#include "headlight/nn.h"
#include "kernels/stored_rows.h"
#include "nn/cuts.h"
#include "nn/matmul.h"

namespace headlight::nn {

template <class Product>
void multiply_packed(Context& ctx, const Product& product) {
  const int threads = ctx.threads();
  std::byte* const shared = ctx.scratch(Context::kShared, product.shared_bytes());
  // Allocated here, where it may fail; a task that requests it again gets the same memory.
  const std::size_t own_bytes = product.own_bytes();
  for (int worker = 0; worker < threads; ++worker) static_cast<void>(ctx.scratch(worker, own_bytes));
  run_tasks(ctx, product.pieces(), threads, [&](int worker, Index piece) {
    product.pack_shared(piece, shared, ctx.scratch(worker, own_bytes));
  });
  run_tasks(ctx, product.tasks(), threads, [&](int worker, Index task) {
    std::byte* const own = ctx.scratch(worker, own_bytes);
    for (Index k = 0; k < product.depth(); k += Product::kDepth) {
      const int deep = static_cast<int>(std::min(Product::kDepth, product.depth() - k));
      product.pack_own(task, k, deep, own);
      product.multiply(task, k, deep, shared, own);
    }
  });
}

// y = x·w + bias, or y += x·w, with a matrix in any precision. f32.
struct Factor {
  kernels::StoredRows w;  // [columns, depth], or [depth, columns]
  WeightLayout layout = WeightLayout::out_in;
  TensorView y;  // [rows, columns], any row stride
  ConstTensorView bias = {};
  bool accumulate = false;
  [[nodiscard]] Index columns() const { return y.dim(1); }
};
// The columns of one factor that a task computes.
struct FactorColumns {
  const Factor* factor;
  Range columns;
};
// x with several matrices: one parallel loop, one preparation of x.
struct ColumnProduct {
  ConstTensorView x;  // [rows, depth], or [depth, rows] when transposed
  MatrixForm form = MatrixForm::plain;
  std::span<const Factor> factors;
};
// In f32; the bits are those of multiply() for the same numbers. x is not transposed.
void multiply_as_f32(Context& ctx, const ColumnProduct& product);
// q8_0 matrices with rows rounded to 16 bits, in integers. Needs integer_kernels_for(ctx.target()). x is not transposed.
void multiply_as_integers(Context& ctx, const ColumnProduct& product);
// Matrices of the other block types with rows rounded to 8 bits, in integers. Only types that
// byte_kernels_for(ctx.target()) supports. x is not transposed.
void multiply_as_bytes(Context& ctx, const ColumnProduct& product);
// In bf16 with f32 sums (kernels/matrix_unit.h). Two parts per number: on AMX, several times as fast as f32, with errors of
// 2^-17 (a bf16 parameter still has one part); needs matrix_kernels_for(ctx.target()). One part: needs bf16_kernels_for.
void multiply_in_parts(Context& ctx, int parts, const ColumnProduct& product);

}  // namespace headlight::nn
