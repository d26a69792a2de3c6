#include "headlight/nn.h"
#include "nn/drive.h"

namespace headlight::nn {

FeedForward::FeedForward(const std::string& name, const FeedForwardConfig& config, DType dtype)
    : config_(config) {
  const LinearConfig wide{config.width, config.inner, config.bias, config.layout, config.weights};
  if (config.gated && config.gate_packed) {
    up = Linear(name + ".gate_up",
                {config.width, 2 * config.inner, config.bias, config.layout, config.weights}, dtype);
  } else {
    if (config.gated) gate = Linear(name + ".gate", wide, dtype);
    up = Linear(name + (config.gated ? ".gated_up" : ".up"), wide, dtype);
  }
  down =
      Linear(name + ".down", {config.inner, config.width, config.bias, config.layout, config.weights}, dtype);
}

Tensor FeedForward::forward(Context& ctx, ConstTensorView x, Saved* saved) const {
  const CallScope scope(ctx);
  const DType dtype = down.weight.value.dtype();
  const Index tokens = x.dim(0), inner = config_.inner;
  Tensor wide = Tensor::uninitialized({tokens, config_.gated ? 2 * inner : inner}, dtype);
  if (gate.empty()) {
    up.forward(ctx, x, wide);
  } else {
    const Linear::Target targets[] = {{gate, columns_of(wide.view(), 0, inner)},
                                      {up, columns_of(wide.view(), inner, inner)}};
    Linear::forward_all(ctx, x, targets);
  }
  // Without a way back the activation may overwrite what it reads.
  Tensor active;
  TensorView target;
  if (saved != nullptr || config_.gated) {
    active = Tensor::uninitialized({tokens, inner}, dtype);
    target = active.view();
  } else {
    target = wide.view();
  }
  if (config_.gated) nn::gate(ctx, config_.activation, wide, target);
  else activate(ctx, config_.activation, wide, target);
  Tensor y = down.forward(ctx, target);
  if (saved != nullptr) *saved = {std::move(wide), std::move(active)};
  return y;
}

Tensor FeedForward::backward(Context& ctx, ConstTensorView x, const Saved& saved, ConstTensorView dy) {
  const CallScope scope(ctx);
  const DType dtype = down.weight.value.dtype();
  const Index tokens = x.dim(0), inner = config_.inner;
  Tensor dactive = Tensor::uninitialized({tokens, inner}, dtype);
  down.backward_input(ctx, dy, dactive);
  down.backward_weight(ctx, saved.active, dy);
  down.backward_bias(ctx, dy);
  Tensor dx = Tensor::uninitialized({tokens, config_.width}, dtype);
  if (!config_.gated) {
    activate_backward(ctx, config_.activation, saved.wide, dactive, dactive,
                      config_.bias && up.bias.trained ? &up.bias : nullptr);
    up.backward_input(ctx, dactive, dx);
    up.backward_weight(ctx, x, dactive);
    return dx;
  }
  Tensor dwide = Tensor::uninitialized({tokens, 2 * inner}, dtype);
  gate_backward(ctx, config_.activation, saved.wide, dactive, dwide);
  const auto back = [&](Linear& linear, const ConstTensorView& part, Linear::Write write) {
    linear.backward_input(ctx, part, dx, write);
    linear.backward_weight(ctx, x, part);
    linear.backward_bias(ctx, part);
  };
  if (gate.empty()) {
    back(up, dwide, Linear::Write::set);
  } else {
    back(gate, columns_of(dwide.view(), 0, inner), Linear::Write::set);
    back(up, columns_of(dwide.view(), inner, inner), Linear::Write::add);
  }
  return dx;
}

void FeedForward::collect(Parameters& list) {
  gate.collect(list);
  up.collect(list);
  down.collect(list);
}

}  // namespace headlight::nn
