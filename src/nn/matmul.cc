#include "nn/matmul.h"

#include <algorithm>

#include "core/call_scope.h"
#include "core/concat.h"
#include "headlight/attention.h"
#include "headlight/error.h"
#include "kernels/gemm.h"
#include "kernels/matrix_unit.h"
#include "nn/packed_product.h"

namespace headlight::nn {
namespace {

// Rows and columns of c per task. No choice here changes a bit of the result.
constexpr Index kBlockRows = 192;  // packed left rows of one task, in the second cache
constexpr Index kBlockColumns = 1024;

// Tasks per thread.
struct Tasks {
  Cuts rows, columns;
  Tasks(Index all_rows, Index all_columns, Index strip, Index panel, int threads)
      : rows(all_rows, strip, round_up((all_rows + kBlockRows - 1) / kBlockRows, threads)),
        columns(all_columns, panel, (all_columns + kBlockColumns - 1) / kBlockColumns) {
    // Few rows: more columns compensate.
    if (rows.parts < threads)
      columns = {all_columns, panel, round_up((all_columns + kBlockColumns - 1) / kBlockColumns, threads)};
  }
};

// All of the right side is shared: [block of depth][panel][depth][panel width].
template <class T>
class Dense {
 public:
  // Steps of depth between two visits of c. Fixed, so that the order of additions is: a left strip and a
  // right panel of this depth stay in the first two caches together.
  static constexpr Index kDepth = 384;

  Dense(const Context& ctx, const Product& product)
      : kernels_(kernels::gemm_kernels_for(ctx.target()).of<T>()),
        product_(product),
        columns_(product.c.dim(1)),
        depth_(product.a.dim(product.a_form == MatrixForm::plain ? 1 : 0)),
        padded_(round_up(columns_, kernels_.panel)),
        chunk_(round_up(256, kernels_.panel)),
        tasks_(product.c.dim(0), columns_, kernels_.strip, kernels_.panel, ctx.threads()) {}

  [[nodiscard]] Index depth() const { return depth_; }
  [[nodiscard]] std::size_t shared_bytes() const {
    return sizeof(T) * static_cast<std::size_t>(padded_ * depth_);
  }
  [[nodiscard]] std::size_t own_bytes() const {
    return sizeof(T) * static_cast<std::size_t>(tasks_.rows.largest() * kDepth);
  }
  [[nodiscard]] Index chunks() const { return (columns_ + chunk_ - 1) / chunk_; }
  [[nodiscard]] Index pieces() const { return (depth_ + kDepth - 1) / kDepth * chunks(); }
  [[nodiscard]] Index tasks() const { return tasks_.rows.parts * tasks_.columns.parts; }

  void pack_shared(Index piece, std::byte* shared, std::byte*) const {
    const ConstTensorView& b = product_.b;
    const Index k = piece / chunks() * kDepth, first = piece % chunks() * chunk_;
    const int n = static_cast<int>(std::min(chunk_, columns_ - first)),
              deep = static_cast<int>(std::min(kDepth, depth_ - k));
    T* to = reinterpret_cast<T*>(shared) + panels(k, first);
    if (product_.b_form == MatrixForm::plain)
      kernels_.pack_right(b.as<T>() + k * b.stride(0) + first, b.stride(0), n, deep, to);
    else kernels_.pack_right_transposed(b.as<T>() + first * b.stride(0) + k, b.stride(0), n, deep, to);
  }
  void pack_own(Index task, Index k, int deep, std::byte* own) const {
    const ConstTensorView& a = product_.a;
    const Range rows = tasks_.rows.part(task / tasks_.columns.parts);
    const int n = static_cast<int>(rows.size());
    T* to = reinterpret_cast<T*>(own);
    if (product_.a_form == MatrixForm::plain)
      kernels_.pack_left(a.as<T>() + rows.begin * a.stride(0) + k, a.stride(0), n, deep, to);
    else kernels_.pack_left_transposed(a.as<T>() + k * a.stride(0) + rows.begin, a.stride(0), n, deep, to);
  }
  void multiply(Index task, Index k, int deep, const std::byte* shared, const std::byte* own) const {
    const Range rows = tasks_.rows.part(task / tasks_.columns.parts),
                columns = tasks_.columns.part(task % tasks_.columns.parts);
    const bool first = k == 0 && !product_.accumulate;
    kernels_.multiply_block(
        {static_cast<int>(rows.size()), static_cast<int>(columns.size()), deep,
         reinterpret_cast<const T*>(own), reinterpret_cast<const T*>(shared) + panels(k, columns.begin),
         Index{deep} * kernels_.panel, product_.c.as<T>() + rows.begin * product_.c.stride(0) + columns.begin,
         product_.c.stride(0),
         first && !product_.bias.empty() ? product_.bias.as<T>() + columns.begin : nullptr, !first});
  }

 private:
  // The address in the packed right side of step `k` of the depth, for panels from column `column` on.
  [[nodiscard]] Index panels(Index k, Index column) const {
    return k * padded_ + column * std::min(kDepth, depth_ - k);
  }

  const kernels::GemmKernels<T>& kernels_;
  const Product& product_;
  Index columns_, depth_;
  Index padded_;  // columns, rounded up to whole panels
  Index chunk_;   // columns of a piece
  Tasks tasks_;
};

// The number of bf16 parts of an operand; 0: f32.
int parts_of(const Context& ctx) {
  if (ctx.products() == Products::rounded)
    return kernels::matrix_kernels_for(ctx.target()) != nullptr ? 2 : 0;
  if (ctx.products() == Products::bf16) return kernels::bf16_kernels_for(ctx.target()) != nullptr ? 1 : 0;
  return 0;
}

void multiply_rounded(Context& ctx, int parts, const Product& p) {
  const kernels::StoredRows b{StoredType::f32, p.b.as<std::byte>(),
                              p.b.stride(0) * static_cast<Index>(sizeof(float))};
  const Factor factor{b, p.b_form == MatrixForm::plain ? WeightLayout::in_out : WeightLayout::out_in, p.c,
                      p.bias, p.accumulate};
  multiply_in_parts(ctx, parts, {p.a, p.a_form, {&factor, 1}});
}

// A product of depth zero is zero; bias and c are still added.
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
                       p.a_form == MatrixForm::plain ? "" : " transposed", ", b ", name_of(p.b.dtype()), " ",
                       p.b.shape().text(), p.b_form == MatrixForm::plain ? "" : " transposed", ", c ",
                       name_of(p.c.dtype()), " ", p.c.shape().text()));
  };
  if (p.a.rank() != 2 || p.b.rank() != 2 || p.c.rank() != 2) refuse("a, b and c must be matrices");
  const DType dtype = p.c.dtype();
  if (dtype != DType::f32 && dtype != DType::f64) refuse("only f32 and f64 are multiplied");
  if (p.a.dtype() != dtype || p.b.dtype() != dtype) refuse("a, b and c must have one dtype");
  const int a_depth = p.a_form == MatrixForm::plain ? 1 : 0, b_depth = p.b_form == MatrixForm::plain ? 0 : 1;
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
  const CallScope scope(ctx);
  check(p);
  if (p.c.dim(0) == 0 || p.c.dim(1) == 0) return;
  const bool wide = p.c.dtype() == DType::f64;
  if (p.a.dim(p.a_form == MatrixForm::plain ? 1 : 0) == 0)
    return wide ? multiply_nothing<double>(p) : multiply_nothing<float>(p);
  if (wide) multiply_packed(ctx, Dense<double>(ctx, p));
  else if (const int parts = parts_of(ctx); parts > 0) multiply_rounded(ctx, parts, p);
  else multiply_packed(ctx, Dense<float>(ctx, p));
}

}  // namespace headlight::nn
