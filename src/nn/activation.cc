#include <vector>

#include "core/team.h"
#include "headlight/nn.h"
#include "nn/drive.h"

namespace headlight::nn {
namespace {

static_assert(static_cast<int>(Activation::sigmoid) == static_cast<int>(kernels::Curve::sigmoid));
kernels::Curve curve_of(Activation activation) {
  // Squares the output of the kernel of relu.
  return activation == Activation::relu_squared ? kernels::Curve::relu
                                                : static_cast<kernels::Curve>(activation);
}

void check(const char* who, const char* what, const ConstTensorView& x, const ConstTensorView& like,
           Index columns) {
  check_matrix(who, what, x, like.dtype(), columns, like.dim(0));
}

void check_gate(Activation activation) {
  if (activation == Activation::relu_squared)
    throw Error(ErrorKind::usage, "nn.config", "gate: relu_squared is not supported as a gate");
}

}  // namespace

std::string_view name_of(Activation activation) noexcept {
  switch (activation) {
    case Activation::relu: return "relu";
    case Activation::gelu: return "gelu";
    case Activation::gelu_tanh: return "gelu_tanh";
    case Activation::silu: return "silu";
    case Activation::tanh: return "tanh";
    case Activation::sigmoid: return "sigmoid";
    case Activation::relu_squared: return "relu_squared";
  }
  return "?";
}

void activate(Context& ctx, Activation activation, ConstTensorView x, TensorView y) {
  check("activate", "y", y, x, x.dim(1));
  with_elements(ctx, x.dtype(), [&]<class T>(const kernels::ElementKernels<T>& kernels) {
    for_row_blocks(ctx, x.dim(0), x.dim(1), [&](Index, Index first, Index rows) {
      kernels.apply(curve_of(activation), {rows, x.dim(1), x.as<T>() + first * x.stride(0), x.stride(0),
                                           y.as<T>() + first * y.stride(0), y.stride(0)});
      for (Index r = first; r < first + rows && activation == Activation::relu_squared; ++r) {
        T* row = y.as<T>() + r * y.stride(0);
        kernels.multiply(row, row, row, x.dim(1));
      }
    });
  });
}

void activate_backward(Context& ctx, Activation activation, ConstTensorView x, ConstTensorView dy,
                       TensorView dx, Parameter* bias) {
  check("activate_backward", "dy", dy, x, x.dim(1));
  check("activate_backward", "dx", dx, x, x.dim(1));
  with_elements(ctx, x.dtype(), [&]<class T>(const kernels::ElementKernels<T>& kernels) {
    const BlockSums<T> sums(ctx, x.dim(0), x.dim(1), 1);
    for_row_blocks(ctx, x.dim(0), x.dim(1), [&](Index block, Index first, Index rows) {
      if (bias != nullptr) sums.clear(block);
      if (activation == Activation::relu_squared) {
        const Index n = x.dim(1);
        std::vector<T> slope(static_cast<std::size_t>(n));
        for (Index r = first; r < first + rows; ++r) {
          kernels.apply(kernels::Curve::relu, {1, n, x.as<T>() + r * x.stride(0), n, slope.data(), n});
          kernels.scaled(T{2}, slope.data(), nullptr, slope.data(), n);
          kernels.multiply(slope.data(), dy.as<T>() + r * dy.stride(0), dx.as<T>() + r * dx.stride(0), n);
        }
        if (bias != nullptr)
          kernels.sum_rows(dx.as<T>() + first * dx.stride(0), dx.stride(0), rows, n, sums.of(block, 0));
        return;
      }
      kernels.pull_back(curve_of(activation),
                        {rows, x.dim(1), x.as<T>() + first * x.stride(0), x.stride(0),
                         dy.as<T>() + first * dy.stride(0), dy.stride(0), dx.as<T>() + first * dx.stride(0),
                         dx.stride(0), bias != nullptr ? sums.of(block, 0) : nullptr});
    });
    if (bias != nullptr) sums.finish(kernels, 0, grad_of(*bias).as<T>());
  });
}

void gate(Context& ctx, Activation activation, ConstTensorView x, TensorView y) {
  const Index n = x.dim(1) / 2;
  check("gate", "y", y, x, n);
  check_gate(activation);
  with_elements(ctx, x.dtype(), [&]<class T>(const kernels::ElementKernels<T>& kernels) {
    for_row_blocks(ctx, x.dim(0), x.dim(1), [&](Index, Index first, Index rows) {
      const T* row = x.as<T>() + first * x.stride(0);
      kernels.gate(curve_of(activation),
                   {rows, n, row, row + n, x.stride(0), y.as<T>() + first * y.stride(0), y.stride(0)});
    });
  });
}

void gate_backward(Context& ctx, Activation activation, ConstTensorView x, ConstTensorView dy,
                   TensorView dx) {
  const Index n = x.dim(1) / 2;
  check("gate_backward", "dy", dy, x, n);
  check("gate_backward", "dx", dx, x, 2 * n);
  check_gate(activation);
  with_elements(ctx, x.dtype(), [&]<class T>(const kernels::ElementKernels<T>& kernels) {
    for_row_blocks(ctx, x.dim(0), x.dim(1), [&](Index, Index first, Index rows) {
      const T* row = x.as<T>() + first * x.stride(0);
      T* grad = dx.as<T>() + first * dx.stride(0);
      kernels.gate_back(curve_of(activation),
                        {rows, n, row, row + n, x.stride(0), dy.as<T>() + first * dy.stride(0), dy.stride(0),
                         grad, grad + n, dx.stride(0)});
    });
  });
}

void drop(Context& ctx, const Dropout& dropout, ConstTensorView x, TensorView y, ConstTensorView add) {
  const CallScope scope(ctx);
  check("drop", "y", y, x, x.dim(1));
  if (!add.empty()) check("drop", "add", add, x, x.dim(1));
  if (!(dropout.rate >= 0 && dropout.rate < 1)) {
    throw Error(ErrorKind::usage, "nn.dropout",
                concat("drop: a rate of ", dropout.rate, "; need at least 0 and below 1"));
  }
  const DropoutKey key = DropoutKey::of(dropout.rate, dropout.seed, dropout.layer);
  const TokenShare* share = tokens_of(ctx);
  const Index before = share != nullptr ? share->begin : 0;  // rows of other processes
  with_elements(ctx, x.dtype(), [&]<class T>(const kernels::ElementKernels<T>& kernels) {
    const T factor = static_cast<T>(1 / (1 - dropout.rate));
    for_each_row(ctx, x.dim(0), x.dim(1), [&](Index r) {
      kernels.drop(key, factor, before + r, x.as<T>() + r * x.stride(0),
                   add.empty() ? nullptr : add.as<T>() + r * add.stride(0), y.as<T>() + r * y.stride(0),
                   x.dim(1));
    });
  });
}

void add_to(Context& ctx, ConstTensorView x, TensorView y) {
  check("add_to", "y", y, x, x.dim(1));
  with_elements(ctx, x.dtype(), [&]<class T>(const kernels::ElementKernels<T>& kernels) {
    for_each_row(ctx, x.dim(0), x.dim(1), [&](Index r) {
      T* to = y.as<T>() + r * y.stride(0);
      kernels.add(x.as<T>() + r * x.stride(0), to, to, x.dim(1));
    });
  });
}

void scale(Context& ctx, double factor, TensorView x) {
  with_elements(ctx, x.dtype(), [&]<class T>(const kernels::ElementKernels<T>& kernels) {
    for_each_row(ctx, x.dim(0), x.dim(1), [&](Index r) {
      T* to = x.as<T>() + r * x.stride(0);
      kernels.scaled(static_cast<T>(factor), to, nullptr, to, x.dim(1));
    });
  });
}

}  // namespace headlight::nn
