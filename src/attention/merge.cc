// (out, lse) is a value you can add: attention over two runs of keys is the weighted mean of both.
#include <cmath>
#include <limits>

#include "attention/problem.h"
#include "core/call_scope.h"
#include "core/concat.h"
#include "core/thread_pool.h"
#include "headlight/attention.h"
#include "kernels/kernels.h"

namespace headlight {
namespace {

void check_merge(const ConstTensorView& out, const ConstTensorView& lse, const ConstTensorView& other_out,
                 const ConstTensorView& other_lse) {
  const auto refuse = [](const char* code, const std::string& what) {
    throw Error(ErrorKind::input, code, concat("merge: ", what));
  };
  if (out.rank() != 4)
    refuse("merge.rank", concat("out has rank ", out.rank(), "; need [batch, head, query, dim]"));
  if (lse.rank() != 3)
    refuse("merge.rank", concat("lse has rank ", lse.rank(), "; need [batch, head, query]"));
  if (other_out.shape() != out.shape() || other_lse.shape() != lse.shape()) {
    refuse("merge.shape",
           concat("out is ", out.shape().text(), " and lse ", lse.shape().text(), " but the other part has ",
                  other_out.shape().text(), " and ", other_lse.shape().text(), "; need the same shapes"));
  }
  for (int axis = 0; axis < 3; ++axis) {
    if (lse.dim(axis) != out.dim(axis)) {
      refuse("merge.shape", concat("out is ", out.shape().text(), " but lse is ", lse.shape().text()));
    }
  }
  if (!is_float(out.dtype()) || other_out.dtype() != out.dtype() || other_lse.dtype() != lse.dtype() ||
      (lse.dtype() != DType::f32 && lse.dtype() != DType::f64)) {
    refuse("merge.dtype", concat("out is ", name_of(out.dtype()), " with ", name_of(other_out.dtype()),
                                 ", lse ", name_of(lse.dtype()), " with ", name_of(other_lse.dtype()),
                                 "; need parts alike, and lse in f32 or f64"));
  }
  if (out.shape().elements() > 0 && (out.data() == nullptr || lse.data() == nullptr ||
                                     other_out.data() == nullptr || other_lse.data() == nullptr)) {
    refuse("merge.null", "a part has elements but no memory");
  }
}

constexpr double kNone = -std::numeric_limits<double>::infinity();
constexpr Index kRows = 64;  // of a task

// Copies one row of `view` to or from a buffer of the kernels. T is the accumulation type.
template <class T>
struct Rows {
  const kernels::AttentionKernels<T>& kernels;
  Index dim;

  void load(const ConstTensorView& view, Index b, Index h, Index i, T factor, T* row) const {
    if (view.stride(3) == 1 || dim == 1) {
      kernels.load_row(row_at(view, b, h, i), view.dtype(), static_cast<int>(dim), factor, row);
    } else {
      for (Index d = 0; d < dim; ++d) row[d] = static_cast<T>(view.at(b, h, i, d)) * factor;
    }
  }
  void store(const T* row, const TensorView& view, Index b, Index h, Index i) const {
    if (view.stride(3) == 1 || dim == 1) {
      bool finite = true;
      kernels.store_row(row, static_cast<int>(dim), T{1}, view.dtype(), row_at(view, b, h, i), &finite);
    } else {
      for (Index d = 0; d < dim; ++d) view.set(b, h, i, d, static_cast<double>(row[d]));
    }
  }
};

// The shares of both parts are computed in f64, because only the difference of two possibly large lse matters.
template <class T>
void merge_rows(Context& ctx, const TensorView& out, const TensorView& lse, const ConstTensorView& other_out,
                const ConstTensorView& other_lse) {
  const Rows<T> part{kernels::kernels_for(ctx.target()).of<T>(), out.dim(3)};
  const Index rows = out.dim(0) * out.dim(1) * out.dim(2), stride = (part.dim + 15) / 16 * 16;
  constexpr Index kSerialElements = Index{1} << 15;
  const int workers = rows * part.dim < kSerialElements ? 1 : ctx.threads();
  const auto bytes = static_cast<std::size_t>(2 * stride + 64) * sizeof(T);
  for (int w = 0; w < workers; ++w) (void)ctx.scratch(w, bytes);
  ctx.pool().run((rows + kRows - 1) / kRows, workers, [&](int worker, Index task) {
    T* mine = reinterpret_cast<T*>(ctx.scratch(worker, bytes));
    T *theirs = mine + stride, *zeros = theirs + stride;
    std::fill(mine, zeros + 64, T{0});
    for (Index row = task * kRows; row < std::min(rows, (task + 1) * kRows); ++row) {
      const Index i = row % out.dim(2), h = row / out.dim(2) % out.dim(1), b = row / out.dim(2) / out.dim(1);
      const double before = lse.at(b, h, i), added = other_lse.at(b, h, i);
      if (added == kNone) continue;  // nothing to add, and not a bit to change
      const double top = std::max(before, added);
      const double a = before == kNone ? 0 : std::exp(before - top), c = std::exp(added - top);
      if (before == kNone) std::fill(mine, mine + part.dim, T{0});
      else part.load(out, b, h, i, static_cast<T>(a / (a + c)), mine);
      part.load(other_out, b, h, i, static_cast<T>(c / (a + c)), theirs);
      // States with the same largest logit are simply added.
      part.kernels.merge({zeros, zeros + 16, mine, 0}, {zeros + 32, zeros + 48, theirs, 0}, T{1}, 1,
                         static_cast<int>(stride));
      part.store(mine, out, b, h, i);
      lse.set(b, h, i, top + std::log(a + c));
    }
  });
}

}  // namespace

void merge(Context& ctx, TensorView out, TensorView lse, ConstTensorView other_out,
           ConstTensorView other_lse) {
  check_merge(out, lse, other_out, other_lse);
  const CallScope scope(ctx);
  compute_in(out.dtype(), [&]<class T>() { merge_rows<T>(ctx, out, lse, other_out, other_lse); });
}

void merge(TensorView out, TensorView lse, ConstTensorView other_out, ConstTensorView other_lse) {
  merge(default_context(), out, lse, other_out, other_lse);
}

}  // namespace headlight
