#include <algorithm>
#include <cmath>

#include "headlight/nn.h"
#include "nn/drive.h"

namespace headlight::nn {

namespace {

constexpr double kGateSlope = 1.702;  // sigmoid(1.702·x)·x is close to GELU

// Converts interleaved columns of gate and up to two halves, or back.
enum class Deal : std::uint8_t { apart, together };
void deal(Context& ctx, Tensor& wide, Deal way) {
  const Index n = wide.dim(1) / 2;
  Tensor dealt = Tensor::uninitialized(wide.shape(), wide.dtype());
  with_type(wide.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_each_row(ctx, wide.dim(0), 2 * n, [&](Index r) {
      const T* from = wide.as<T>() + r * 2 * n;
      T* to = dealt.as<T>() + r * 2 * n;
      for (Index j = 0; j < n; ++j) {
        if (way == Deal::apart) to[j] = from[2 * j], to[n + j] = from[2 * j + 1];
        else to[2 * j] = from[j], to[2 * j + 1] = from[n + j];
      }
    });
  });
  wide = std::move(dealt);
}

// f(row, gate, up, sigmoid of the limited gate) for every row of `wide`.
template <class T, class F>
void for_limited_rows(Context& ctx, const ConstTensorView& wide, T limit, const F& f) {
  const Index n = wide.dim(1) / 2;
  Tensor open = Tensor::uninitialized({wide.dim(0), n}, wide.dtype());
  const auto& kernels = kernels::element_kernels_for(ctx.target()).of<T>();
  for_each_row(ctx, wide.dim(0), 2 * n, [&](Index r) {
    const T* gate = wide.as<T>() + r * wide.stride(0);
    T* row = open.as<T>() + r * n;
    for (Index j = 0; j < n; ++j) row[j] = static_cast<T>(kGateSlope) * std::min(gate[j], limit);
    kernels.apply(kernels::Curve::sigmoid, {1, n, row, n, row, n});
    f(r, gate, gate + n, row);
  });
}

void limited_gate(Context& ctx, double cap, const ConstTensorView& wide, const TensorView& active) {
  with_type(wide.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T limit = static_cast<T>(cap);
    for_limited_rows<T>(ctx, wide, limit, [&](Index r, const T* gate, const T* up, const T* open) {
      T* to = active.as<T>() + r * active.stride(0);
      for (Index j = 0; j < active.dim(1); ++j)
        to[j] = (std::clamp(up[j], -limit, limit) + 1) * std::min(gate[j], limit) * open[j];
    });
  });
}

// Values beyond a limit get no gradient.
void limited_gate_backward(Context& ctx, double cap, const ConstTensorView& wide, const ConstTensorView& dy,
                           const TensorView& dwide) {
  with_type(wide.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T limit = static_cast<T>(cap), slope = static_cast<T>(kGateSlope);
    for_limited_rows<T>(ctx, wide, limit, [&](Index r, const T* gate, const T* up, const T* open) {
      const Index n = dy.dim(1);
      const T* d = dy.as<T>() + r * dy.stride(0);
      T* to = dwide.as<T>() + r * dwide.stride(0);
      for (Index j = 0; j < n; ++j) {
        const T g = std::min(gate[j], limit), u = std::clamp(up[j], -limit, limit) + 1;
        to[j] = gate[j] > limit ? T{0} : d[j] * u * open[j] * (1 + slope * g * (1 - open[j]));
        to[n + j] = std::abs(up[j]) > limit ? T{0} : d[j] * g * open[j];
      }
    });
  });
}

}  // namespace

// Converts `wide` to two halves, gates and ups, if they are interleaved.
void FeedForward::open_gate(Context& ctx, Tensor& wide, TensorView active) const {
  if (config_.gate_pairs) deal(ctx, wide, Deal::apart);
  if (config_.gate_limit > 0) limited_gate(ctx, config_.gate_limit, wide, active);
  else nn::gate(ctx, config_.activation, wide, active);
}

void FeedForward::open_gate_backward(Context& ctx, ConstTensorView wide, ConstTensorView dactive,
                                     Tensor& dwide) const {
  if (config_.gate_limit > 0) limited_gate_backward(ctx, config_.gate_limit, wide, dactive, dwide);
  else gate_backward(ctx, config_.activation, wide, dactive, dwide);
  if (config_.gate_pairs) deal(ctx, dwide, Deal::together);
}

FeedForward::FeedForward(const std::string& name, const FeedForwardConfig& config, DType dtype)
    : config_(config) {
  if (config.gated && config.activation == Activation::relu_squared)
    throw Error(ErrorKind::usage, "nn.config", concat(name, ": relu_squared is not supported as a gate"));
  if ((config.gate_pairs && !config.gate_packed) || (config.gate_limit > 0 && !config.gated)) {
    throw Error(ErrorKind::usage, "nn.config",
                concat(name, ": gate_pairs needs gate_packed, and gate_limit needs a gated network"));
  }
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
  // Without a backward pass the activation may overwrite its input.
  Tensor active;
  TensorView target;
  if (saved != nullptr || config_.gated) {
    active = Tensor::uninitialized({tokens, inner}, dtype);
    target = active.view();
  } else {
    target = wide.view();
  }
  if (config_.gated) open_gate(ctx, wide, target);
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
  open_gate_backward(ctx, saved.wide, dactive, dwide);
  if (gate.empty()) {
    up.backward(ctx, x, dwide, dx);
  } else {
    gate.backward(ctx, x, columns_of(dwide.view(), 0, inner), dx);
    up.backward(ctx, x, columns_of(dwide.view(), inner, inner), dx, Linear::Write::add);
  }
  return dx;
}

void FeedForward::collect(Parameters& list) {
  gate.collect(list);
  up.collect(list);
  down.collect(list);
}

}  // namespace headlight::nn
