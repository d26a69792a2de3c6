#include "headlight/nn.h"
#include "nn/drive.h"

namespace headlight::nn {
namespace {

// A matrix, or a matrix of heads: `inner` rows for each of `outer` tokens.
struct Grid {
  Index outer = 0, inner = 1, outer_stride = 0, inner_stride = 0;
  explicit Grid(const ConstTensorView& x)
      : outer(x.dim(0)),
        inner(x.rank() == 3 ? x.dim(1) : 1),
        outer_stride(x.stride(0)),
        inner_stride(x.rank() == 3 ? x.stride(1) : 0) {}
};

void check_rows(const Parameter& weight, const char* what, const ConstTensorView& x,
                const ConstTensorView& like) {
  const bool good = (x.rank() == 2 || x.rank() == 3) && x.dtype() == weight.value.dtype() &&
                    x.dim(x.rank() - 1) == weight.value.dim(0) && x.shape() == like.shape() &&
                    (x.stride(x.rank() - 1) == 1 || x.dim(x.rank() - 1) == 1);
  if (good) return;
  refuse_shape(
      weight.name, what, x,
      concat(name_of(weight.value.dtype()), " [tokens, ", weight.value.dim(0), "] or [tokens, heads, ",
             weight.value.dim(0), "] with a contiguous last axis, the same for all"));
}

template <class T>
struct RowsAt {
  T* data = nullptr;
  Index stride = 0;
};

// The address of token `first` of a view, and the stride of its rows.
template <class T, class View>
[[nodiscard]] auto rows_at(const View& view, Index first) {
  const Grid grid(view);
  const Index stride = view.rank() == 3 ? grid.inner_stride : grid.outer_stride;
  using P = std::conditional_t<std::is_same_v<View, TensorView>, T, const T>;
  return RowsAt<P>{static_cast<P*>(view.template as<T>()) + first * grid.outer_stride, stride};
}

}  // namespace

Norm::Norm(const std::string& name, const NormConfig& config, DType dtype) : config_(config) {
  if (config.width < 1) {
    throw Error(ErrorKind::usage, "nn.config",
                concat(name, ": a norm of width ", config.width, "; need 1 or more"));
  }
  weight = {name + ".weight", Tensor({config.width}, dtype), {}, false};
  for (Index i = 0; i < config.width && !config.weight_plus_one; ++i) weight.value.view().set(i, 1.0);
  if (config.bias && config.weighted && config.kind == NormKind::layer)
    bias = {name + ".bias", Tensor({config.width}, dtype), {}, false};
}

Tensor Norm::forward(Context& ctx, ConstTensorView x, Saved* saved) const {
  Tensor y = Tensor::uninitialized(x.shape(), x.dtype());
  forward(ctx, x, y, saved);
  return y;
}

namespace {

struct NormCall {
  ConstTensorView x, add = {};
  TensorView sum = {}, y;
};

template <class T>
void run_norm(Context& ctx, const NormConfig& config, const Norm& norm, const NormCall& call, T* mean,
              T* rstd) {
  const auto& kernels = kernels::row_kernels_for(ctx.target()).of<T>();
  const Grid grid(call.x);
  kernels::NormRows<T> base;
  base.width = config.width;
  base.weight = norm.weight.value.as<T>();
  base.bias = norm.bias.value.empty() ? nullptr : norm.bias.value.as<T>();
  base.eps = static_cast<T>(config.eps);
  base.offset = config.weight_plus_one ? T{1} : T{0};
  base.centered = config.kind == NormKind::layer;
  const auto do_rows = [&](Index first, Index rows) {
    kernels::NormRows<T> part = base;
    part.rows = rows;
    const auto x = rows_at<T>(call.x, first);
    part.x = x.data, part.x_stride = x.stride;
    if (!call.add.empty()) {
      const auto add = rows_at<T>(call.add, first);
      part.add = add.data, part.add_stride = add.stride;
      const auto sum = rows_at<T>(call.sum, first);
      part.sum = sum.data, part.sum_stride = sum.stride;
    }
    const auto y = rows_at<T>(call.y, first);
    part.y = y.data, part.y_stride = y.stride;
    part.mean = mean + first * grid.inner;
    part.rstd = rstd + first * grid.inner;
    kernels.norm(part);
  };
  for_row_blocks(ctx, grid.outer, grid.inner * config.width, [&](Index, Index first, Index rows) {
    if (call.x.rank() == 2) return do_rows(first, rows);
    for (Index token = first; token < first + rows; ++token) do_rows(token, grid.inner);
  });
}

// Saves statistics for the backward pass, if requested.
void run_norm(Context& ctx, const NormConfig& config, const Norm& norm, const NormCall& call,
              Norm::Saved* saved) {
  const Grid grid(call.x);
  Norm::Saved unwanted;
  Norm::Saved& statistics = saved != nullptr ? *saved : unwanted;
  statistics.mean = Tensor::uninitialized({grid.outer * grid.inner}, call.x.dtype());
  statistics.rstd = Tensor::uninitialized({grid.outer * grid.inner}, call.x.dtype());
  with_type(call.x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    run_norm<T>(ctx, config, norm, call, statistics.mean.as<T>(), statistics.rstd.as<T>());
  });
}

}  // namespace

void Norm::forward(Context& ctx, ConstTensorView x, TensorView y, Saved* saved) const {
  check_rows(weight, "x", x, x);
  check_rows(weight, "y", y, x);
  run_norm(ctx, config_, *this, {.x = x, .y = y}, saved);
}

Tensor Norm::forward_sum(Context& ctx, ConstTensorView x, ConstTensorView add, TensorView sum,
                         Saved* saved) const {
  check_rows(weight, "x", x, x);
  check_rows(weight, "add", add, x);
  check_rows(weight, "sum", sum, x);
  Tensor y = Tensor::uninitialized(x.shape(), x.dtype());
  run_norm(ctx, config_, *this, {.x = x, .add = add, .sum = sum, .y = y}, saved);
  return y;
}

Tensor Norm::backward(Context& ctx, ConstTensorView x, const Saved& saved, ConstTensorView dy) {
  Tensor dx = Tensor::uninitialized(x.shape(), x.dtype());
  backward(ctx, x, saved, dy, dx);
  return dx;
}

void Norm::backward(Context& ctx, ConstTensorView x, const Saved& saved, ConstTensorView dy, TensorView dx,
                    ConstTensorView add) {
  check_rows(weight, "x", x, x);
  check_rows(weight, "dy", dy, x);
  check_rows(weight, "dx", dx, x);
  if (!add.empty()) check_rows(weight, "add", add, x);
  with_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto& kernels = kernels::row_kernels_for(ctx.target()).of<T>();
    const Grid grid(x);
    const BlockSums<T> sums(ctx, grid.outer, config_.width, 2);
    for_row_blocks(ctx, grid.outer, grid.inner * config_.width, [&](Index block, Index first, Index rows) {
      sums.clear(block);
      const bool matrix = x.rank() == 2;
      for (Index token = first; token < first + rows; token += matrix ? rows : 1) {
        kernels::NormBackRows<T> part;
        part.rows = matrix ? rows : grid.inner;
        part.width = config_.width;
        const auto from = rows_at<T>(x, token);
        part.x = from.data, part.x_stride = from.stride;
        part.mean = saved.mean.as<T>() + token * grid.inner;
        part.rstd = saved.rstd.as<T>() + token * grid.inner;
        part.weight = weight.value.as<T>();
        part.offset = config_.weight_plus_one ? T{1} : T{0};
        const auto g = rows_at<T>(dy, token);
        part.dy = g.data, part.dy_stride = g.stride;
        if (!add.empty()) {
          const auto more = rows_at<T>(add, token);
          part.add = more.data, part.add_stride = more.stride;
        }
        const auto to = rows_at<T>(dx, token);
        part.dx = to.data, part.dx_stride = to.stride;
        part.dweight = sums.of(block, 0);
        part.dbias = bias.value.empty() ? nullptr : sums.of(block, 1);
        part.centered = config_.kind == NormKind::layer;
        kernels.norm_back(part);
      }
    });
    const auto& elements = kernels::element_kernels_for(ctx.target()).of<T>();
    if (config_.weighted && weight.trained) sums.finish(elements, 0, grad_of(weight).as<T>());
    if (!bias.value.empty() && bias.trained) sums.finish(elements, 1, grad_of(bias).as<T>());
  });
}

void Norm::collect(Parameters& list) {
  if (!config_.weighted) return;
  if (!weight.value.empty()) list.push_back(&weight);
  if (!bias.value.empty()) list.push_back(&bias);
}

}  // namespace headlight::nn
