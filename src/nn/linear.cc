#include <vector>

#include "headlight/nn.h"
#include "nn/drive.h"
#include "nn/low_rank.h"
#include "nn/matmul.h"
#include "nn/stored_product.h"

namespace headlight::nn {
namespace {

StoredFactor stored_factor(const Linear& linear, const TensorView& y) {
  return {linear.weight.stored, y, linear.config().bias ? linear.bias.value.view() : ConstTensorView{},
          linear.config().layout};
}

}  // namespace

Linear::Linear(const std::string& name, const LinearConfig& config, DType dtype) : config_(config) {
  if (config.in < 1 || config.out < 1) {
    throw Error(
        ErrorKind::usage, "nn.config",
        concat(name, ": a linear layer from ", config.in, " to ", config.out, "; need 1 or more of each"));
  }
  const bool out_in = config.layout == WeightLayout::out_in;
  const Shape shape = out_in ? Shape{config.out, config.in} : Shape{config.in, config.out};
  weight.name = name + ".weight";
  if (config.weights == Weights::own) weight.value = Tensor(shape, dtype);
  else weight.stored = StoredMatrix(shape[0], shape[1]);
  if (config.bias) bias = {name + ".bias", Tensor({config.out}, dtype), {}, false};
}

void Linear::forward(Context& ctx, ConstTensorView x, TensorView y) const {
  check_matrix(weight.name, "x", x, weight.value.dtype(), config_.in);
  check_matrix(weight.name, "y", y, weight.value.dtype(), config_.out, x.dim(0));
  if (!weight.stored.empty()) {
    const StoredFactor factor = stored_factor(*this, y);
    multiply_stored(ctx, x, std::span(&factor, 1));
  } else {
    multiply(ctx,
             {.a = x,
              .b = weight.value,
              .c = y,
              .b_form = config_.layout == WeightLayout::out_in ? MatrixForm::transposed : MatrixForm::plain,
              .bias = config_.bias ? bias.value.view() : ConstTensorView{}});
  }
  if (!adapter.empty()) add_low_rank(ctx, adapter, x, y);
}

void Linear::forward_all(Context& ctx, ConstTensorView x, std::span<const Target> targets) {
  std::vector<StoredFactor> factors;
  for (const Target& target : targets) {
    const Linear& linear = target.linear;
    if (linear.weight.stored.empty()) {
      linear.forward(ctx, x, target.y);
      continue;
    }
    check_matrix(linear.weight.name, "x", x, DType::f32, linear.config_.in);
    check_matrix(linear.weight.name, "y", target.y, DType::f32, linear.config_.out, x.dim(0));
    factors.push_back(stored_factor(linear, target.y));
  }
  multiply_stored(ctx, x, factors);
  for (const Target& target : targets)
    if (const Linear& linear = target.linear; !linear.weight.stored.empty() && !linear.adapter.empty())
      add_low_rank(ctx, linear.adapter, x, target.y);
}

Tensor Linear::forward(Context& ctx, ConstTensorView x) const {
  Tensor y = Tensor::uninitialized({x.dim(0), config_.out}, weight.value.dtype());
  forward(ctx, x, y);
  return y;
}

void Linear::backward_input(Context& ctx, ConstTensorView dy, TensorView dx, Write write) const {
  check_matrix(weight.name, "dy", dy, weight.value.dtype(), config_.out);
  check_matrix(weight.name, "dx", dx, weight.value.dtype(), config_.in, dy.dim(0));
  multiply(ctx,
           {.a = dy,
            .b = weight.value,
            .c = dx,
            .b_form = config_.layout == WeightLayout::out_in ? MatrixForm::plain : MatrixForm::transposed,
            .accumulate = write == Write::add});
  if (!adapter.empty()) add_low_rank_input(ctx, adapter, dy, dx);
}

void Linear::backward_weight(Context& ctx, ConstTensorView x, ConstTensorView dy) {
  check_matrix(weight.name, "x", x, weight.value.dtype(), config_.in);
  check_matrix(weight.name, "dy", dy, weight.value.dtype(), config_.out, x.dim(0));
  if (!adapter.empty()) learn_low_rank(ctx, adapter, x, dy);
  if (!weight.trained) return;
  const bool out_in = config_.layout == WeightLayout::out_in;
  multiply(ctx, {.a = out_in ? dy : x,
                 .b = out_in ? x : dy,
                 .c = grad_of(weight),
                 .a_form = MatrixForm::transposed,
                 .accumulate = true});
}

void Linear::backward_bias(Context& ctx, ConstTensorView dy) {
  if (!config_.bias || !bias.trained) return;
  check_matrix(bias.name, "dy", dy, bias.value.dtype(), config_.out);
  with_elements(ctx, dy.dtype(), [&]<class T>(const kernels::ElementKernels<T>& kernels) {
    const BlockSums<T> sums(ctx, dy.dim(0), config_.out, 1);
    for_row_blocks(ctx, dy.dim(0), config_.out, [&](Index block, Index first, Index rows) {
      sums.clear(block);
      kernels.sum_rows(dy.as<T>() + first * dy.stride(0), dy.stride(0), rows, config_.out, sums.of(block, 0));
    });
    sums.finish(kernels, 0, grad_of(bias).as<T>());
  });
}

Tensor Linear::backward(Context& ctx, ConstTensorView x, ConstTensorView dy) {
  Tensor dx = Tensor::uninitialized({dy.dim(0), config_.in}, weight.value.dtype());
  backward(ctx, x, dy, dx);
  return dx;
}

void Linear::backward(Context& ctx, ConstTensorView x, ConstTensorView dy, TensorView dx, Write write) {
  if (!dx.empty()) backward_input(ctx, dy, dx, write);
  backward_weight(ctx, x, dy);
  backward_bias(ctx, dy);
}

void Linear::collect(Parameters& list) {
  if (!weight.empty()) list.push_back(&weight);
  if (!bias.value.empty()) list.push_back(&bias);
  if (adapter.empty()) return;
  list.push_back(&adapter.a);
  list.push_back(&adapter.b);
}

}  // namespace headlight::nn
