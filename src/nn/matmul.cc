#include "nn/matmul.h"

#include <algorithm>

#include "core/concat.h"
#include "core/run_tasks.h"
#include "headlight/attention.h"
#include "headlight/error.h"
#include "kernels/gemm.h"
#include "kernels/matrix_unit.h"
#include "nn/cuts.h"
#include "nn/unit_product.h"

namespace headlight::nn {
namespace {

// Steps of depth between two visits of c. Fixed, so that the order of additions is: a left strip and a
// right panel of this depth stay in the first two caches together.
constexpr Index kDepth = 384;
constexpr Index kBlockRows = 192;  // packed left rows of one task, in the second cache
constexpr Index kBlockColumns = 1024;

template <class T>
struct Job {
  const kernels::GemmKernels<T>& kernels;
  const Product& product;
  Index rows, columns, depth;
  Index padded;  // columns, rounded up to whole panels
  T* right;      // all of the right side: [block of depth][panel][depth][panel width]

  // The packed right side from step `k` of the depth on, panels of column `column` on.
  [[nodiscard]] T* panels(Index k, Index column) const {
    return right + k * padded + column * std::min(kDepth, depth - k);
  }

  void pack_right(Index k, Index first, Index last) const {
    const ConstTensorView& b = product.b;
    const int n = static_cast<int>(last - first), deep = static_cast<int>(std::min(kDepth, depth - k));
    if (product.b_side == Side::plain) {
      kernels.pack_right(b.as<T>() + k * b.stride(0) + first, b.stride(0), n, deep, panels(k, first));
    } else {
      kernels.pack_right_transposed(b.as<T>() + first * b.stride(0) + k, b.stride(0), n, deep,
                                    panels(k, first));
    }
  }

  void multiply(Range rows_of_c, Range columns_of_c, T* left) const {
    const ConstTensorView& a = product.a;
    const TensorView& c = product.c;
    for (Index k = 0; k < depth; k += kDepth) {
      const int deep = static_cast<int>(std::min(kDepth, depth - k));
      const int n = static_cast<int>(rows_of_c.size());
      if (product.a_side == Side::plain) {
        kernels.pack_left(a.as<T>() + rows_of_c.begin * a.stride(0) + k, a.stride(0), n, deep, left);
      } else {
        kernels.pack_left_transposed(a.as<T>() + k * a.stride(0) + rows_of_c.begin, a.stride(0), n, deep,
                                     left);
      }
      const bool first = k == 0 && !product.accumulate;
      kernels.multiply_block(
          {n, static_cast<int>(columns_of_c.size()), deep, left, panels(k, columns_of_c.begin),
           Index{deep} * kernels.panel, c.as<T>() + rows_of_c.begin * c.stride(0) + columns_of_c.begin,
           c.stride(0), first && !product.bias.empty() ? product.bias.as<T>() + columns_of_c.begin : nullptr,
           !first});
    }
  }
};

// Tasks of rows × columns: as many for every thread. No choice here changes a bit of the result.
struct Tasks {
  Cuts rows, columns;
};
Tasks cut(Index rows, Index columns, Index strip, Index panel, int threads) {
  const Index wide = (columns + kBlockColumns - 1) / kBlockColumns;
  const Index tall = round_up((rows + kBlockRows - 1) / kBlockRows, threads);
  Tasks tasks{{rows, strip, tall}, {columns, panel, wide}};
  // Few rows: the columns make up for them.
  if (tasks.rows.parts < threads) tasks.columns = {columns, panel, round_up(wide, threads)};
  return tasks;
}

template <class T>
void multiply_as(Context& ctx, const Product& product) {
  const kernels::GemmKernels<T>& kernels = kernels::gemm_kernels_for(ctx.target()).of<T>();
  const Index rows = product.c.dim(0), columns = product.c.dim(1);
  const Index depth = product.a.dim(product.a_side == Side::plain ? 1 : 0);
  const Index panel = kernels.panel, padded = round_up(columns, panel);
  const auto bytes = [](Index n) { return static_cast<std::size_t>(n) * sizeof(T); };
  Job<T> job{kernels,
             product,
             rows,
             columns,
             depth,
             padded,
             reinterpret_cast<T*>(ctx.scratch(Context::kShared, bytes(padded * depth)))};
  const Tasks tasks = cut(rows, columns, kernels.strip, panel, ctx.threads());
  // Asked for here, where it may fail; a task that asks again is given the same memory.
  const std::size_t left_bytes = bytes(tasks.rows.largest() * kDepth);
  for (int worker = 0; worker < ctx.threads(); ++worker) static_cast<void>(ctx.scratch(worker, left_bytes));

  const Index depth_blocks = (depth + kDepth - 1) / kDepth, chunk = round_up(256, panel);
  const Index chunks = (columns + chunk - 1) / chunk;
  ctx.pool().run(depth_blocks * chunks, ctx.threads(), [&](int, std::int64_t task) {
    const Index first = task % chunks * chunk;
    job.pack_right(task / chunks * kDepth, first, std::min(columns, first + chunk));
  });

  ctx.pool().run(tasks.rows.parts * tasks.columns.parts, ctx.threads(), [&](int worker, std::int64_t task) {
    job.multiply(tasks.rows.part(task / tasks.columns.parts), tasks.columns.part(task % tasks.columns.parts),
                 reinterpret_cast<T*>(ctx.scratch(worker, left_bytes)));
  });
}

// How many bf16 stand for a number; 0: none, it is multiplied as it is.
int parts_of(const Context& ctx) {
  if (ctx.products() == Products::rounded)
    return kernels::matrix_kernels_for(ctx.target()) != nullptr ? 2 : 0;
  if (ctx.products() == Products::bf16) return kernels::bf16_kernels_for(ctx.target()) != nullptr ? 1 : 0;
  return 0;
}

void multiply_rounded(Context& ctx, int parts, const Product& p) {
  const kernels::StoredRows b{StoredType::f32, p.b.as<std::byte>(),
                              p.b.stride(0) * static_cast<Index>(sizeof(float))};
  const UnitFactor factor{b, p.b_side == Side::plain ? WeightLayout::in_out : WeightLayout::out_in, p.c,
                          p.bias, p.accumulate};
  multiply_in_parts(ctx, parts, p.a, p.a_side, {&factor, 1});
}

// A product over no depth is zero; c still gets what is added to it.
template <class T>
void multiply_nothing(const Product& p) {
  if (p.accumulate) return;
  for (Index i = 0; i < p.c.dim(0); ++i) {
    for (Index j = 0; j < p.c.dim(1); ++j)
      p.c.as<T>()[i * p.c.stride(0) + j] = p.bias.empty() ? T{0} : p.bias.as<T>()[j];
  }
}

void check(const Product& p) {
  const auto refuse = [&](std::string_view what) {
    throw Error(ErrorKind::input, "matmul.shape",
                concat("multiply: ", what, "\n  a is ", name_of(p.a.dtype()), " ", p.a.shape().text(),
                       p.a_side == Side::plain ? "" : " transposed", ", b ", name_of(p.b.dtype()), " ",
                       p.b.shape().text(), p.b_side == Side::plain ? "" : " transposed", ", c ",
                       name_of(p.c.dtype()), " ", p.c.shape().text()));
  };
  if (p.a.rank() != 2 || p.b.rank() != 2 || p.c.rank() != 2) refuse("a, b and c must be matrices");
  const DType dtype = p.c.dtype();
  if (dtype != DType::f32 && dtype != DType::f64) refuse("only f32 and f64 are multiplied");
  if (p.a.dtype() != dtype || p.b.dtype() != dtype) refuse("a, b and c must have one dtype");
  const int a_depth = p.a_side == Side::plain ? 1 : 0, b_depth = p.b_side == Side::plain ? 0 : 1;
  if (p.a.dim(a_depth) != p.b.dim(b_depth)) refuse("a and b differ in depth");
  if (p.a.dim(1 - a_depth) != p.c.dim(0) || p.b.dim(1 - b_depth) != p.c.dim(1))
    refuse("c must have the rows of a and the columns of b");
  for (const ConstTensorView& view : {p.a, p.b, ConstTensorView(p.c)})
    if (view.stride(1) != 1 && view.dim(1) > 1) refuse("the last axis must be contiguous");
  if (p.bias.empty()) return;
  if (p.accumulate) refuse("a bias cannot be added while accumulating");
  if (p.bias.rank() != 1 || p.bias.dim(0) != p.c.dim(1) || p.bias.dtype() != dtype)
    refuse(concat("bias must have one number per column; it is ", p.bias.shape().text()));
}

}  // namespace

void multiply(Context& ctx, const Product& p) {
  check(p);
  if (p.c.dim(0) == 0 || p.c.dim(1) == 0) return;
  const bool wide = p.c.dtype() == DType::f64;
  if (p.a.dim(p.a_side == Side::plain ? 1 : 0) == 0)
    return wide ? multiply_nothing<double>(p) : multiply_nothing<float>(p);
  if (wide) multiply_as<double>(ctx, p);
  else if (const int parts = parts_of(ctx); parts > 0) multiply_rounded(ctx, parts, p);
  else multiply_as<float>(ctx, p);
}

}  // namespace headlight::nn
