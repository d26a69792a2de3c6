// Parallel loops over the rows of a layer, in blocks of fixed size. Results do not depend on which thread takes a
// block: sums over rows are one partial sum per block, added in order.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "core/call_scope.h"
#include "core/concat.h"
#include "core/run_tasks.h"
#include "headlight/context.h"
#include "headlight/error.h"
#include "headlight/parameters.h"
#include "headlight/tensor.h"
#include "kernels/kernels.h"

namespace headlight::nn {

inline constexpr Index kRowBlock = 64;
// Below this many elements, waking another thread costs more than it saves.
inline constexpr Index kSerialElements = 16384;

// Calls f(T{}) with the type of `dtype`, in the default floating-point mode. All layers compute inside such a call.
template <class F>
void with_type(DType dtype, const F& f) {
  const DefaultFloatMode float_mode;
  if (dtype == DType::f64) f(double{});
  else f(float{});
}

[[nodiscard]] inline Index row_blocks(Index rows) { return (rows + kRowBlock - 1) / kRowBlock; }

// f(block, first row, rows) for all blocks.
template <class F>
void for_row_blocks(Context& ctx, Index rows, Index columns, const F& f) {
  const int workers = rows * columns < kSerialElements ? 1 : ctx.threads();
  run_tasks(ctx, row_blocks(rows), workers, [&](int, Index block) {
    const Index first = block * kRowBlock;
    f(block, first, std::min(kRowBlock, rows - first));
  });
}

// f(row) for all rows, in blocks.
template <class F>
void for_each_row(Context& ctx, Index rows, Index columns, const F& f) {
  for_row_blocks(ctx, rows, columns, [&](Index, Index first, Index count) {
    for (Index r = first; r < first + count; ++r) f(r);
  });
}

// f(kernels) with the element kernels of `dtype`, inside with_type().
template <class F>
void with_elements(const Context& ctx, DType dtype, const F& f) {
  with_type(dtype, [&](auto zero) { f(kernels::element_kernels_for(ctx.target()).of<decltype(zero)>()); });
}

// The gradient of a parameter, created as zeros if it does not exist yet.
[[nodiscard]] inline TensorView grad_of(Parameter& parameter) {
  if (parameter.grad.empty()) parameter.grad = Tensor(parameter.value.shape(), parameter.value.dtype());
  return parameter.grad.view();
}

// Sums over rows: every block adds into its own array, finish() adds the arrays to the gradients.
template <class T>
class BlockSums {
 public:
  // `arrays` sums of `columns` each.
  BlockSums(Context& ctx, Index rows, Index columns, Index arrays)
      : scope_(ctx), blocks_(row_blocks(rows)), columns_(columns), arrays_(arrays) {
    const auto bytes = static_cast<std::size_t>(blocks_ * columns * arrays) * sizeof(T);
    memory_ = reinterpret_cast<T*>(ctx.scratch(Context::kShared, bytes));
  }
  // Array number `array` of a block. clear() comes first.
  [[nodiscard]] T* of(Index block, Index array) const {
    return memory_ + (block * arrays_ + array) * columns_;
  }
  void clear(Index block) const {
    std::memset(of(block, 0), 0, sizeof(T) * static_cast<std::size_t>(arrays_ * columns_));
  }
  void finish(const kernels::ElementKernels<T>& kernels, Index array, T* target) const {
    for (Index b = 0; b < blocks_; ++b) kernels.add(target, of(b, array), target, columns_);
  }

 private:
  CallScope scope_;  // locks the scratch memory to this call
  Index blocks_, columns_, arrays_;
  T* memory_;
};

[[noreturn, gnu::cold]] inline void refuse_shape(const std::string& name, const char* what,
                                                 const ConstTensorView& found, const std::string& need) {
  throw Error(
      ErrorKind::usage, "nn.shape",
      concat(name, ": ", what, " is ", name_of(found.dtype()), " ", found.shape().text(), "; need ", need));
}

// A matrix of this dtype and number of columns with a contiguous last axis; `rows` < 0: any number.
inline void check_matrix(const std::string& name, const char* what, const ConstTensorView& x, DType dtype,
                         Index columns, Index rows = -1) {
  const bool good = x.rank() == 2 && x.dtype() == dtype && x.dim(1) == columns &&
                    (rows < 0 || x.dim(0) == rows) && (x.stride(1) == 1 || x.dim(1) <= 1);
  if (!good) {
    refuse_shape(name, what, x,
                 concat(name_of(dtype), " [", rows < 0 ? std::string("tokens") : std::to_string(rows), ", ",
                        columns, "] with a contiguous last axis"));
  }
}

// Columns [first, first + count) of a matrix.
template <class View>
[[nodiscard]] View columns_of(const View& x, Index first, Index count) {
  return {x.template as<std::byte>() + first * static_cast<Index>(size_of(x.dtype())),
          x.dtype(),
          {x.dim(0), count},
          {x.stride(0), 1}};
}
// Rows [first, first + count) of a matrix.
template <class View>
[[nodiscard]] View rows_of(const View& x, Index first, Index count) {
  return {x.template as<std::byte>() + first * x.stride(0) * static_cast<Index>(size_of(x.dtype())),
          x.dtype(),
          {count, x.dim(1)},
          {x.stride(0), x.stride(1)}};
}

}  // namespace headlight::nn
