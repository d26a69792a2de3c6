#include "nn/low_rank.h"

#include "nn/drive.h"
#include "nn/matmul.h"

namespace headlight::nn {
namespace {

// scale·from·op(with), of as many columns as the rank: small beside everything around it.
Tensor narrow(Context& ctx, const LowRank& adapter, const ConstTensorView& from, const ConstTensorView& with,
              Side side) {
  Tensor t = Tensor::uninitialized({from.dim(0), adapter.rank()}, from.dtype());
  multiply(ctx, {.a = from, .b = with, .c = t, .b_side = side});
  with_type(t.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto scale = static_cast<T>(adapter.scale);
    T* numbers = t.as<T>();
    for (Index i = 0, n = t.shape().elements(); i < n; ++i) numbers[i] *= scale;
  });
  return t;
}

}  // namespace

void add_low_rank(Context& ctx, const LowRank& adapter, ConstTensorView x, TensorView y) {
  const CallScope scope(ctx);
  const Tensor t = narrow(ctx, adapter, x, adapter.a.value, Side::transposed);
  multiply(ctx, {.a = t, .b = adapter.b.value, .c = y, .b_side = Side::transposed, .accumulate = true});
}

void add_low_rank_input(Context& ctx, const LowRank& adapter, ConstTensorView dy, TensorView dx) {
  const CallScope scope(ctx);
  const Tensor t = narrow(ctx, adapter, dy, adapter.b.value, Side::plain);
  multiply(ctx, {.a = t, .b = adapter.a.value, .c = dx, .accumulate = true});
}

void learn_low_rank(Context& ctx, LowRank& adapter, ConstTensorView x, ConstTensorView dy) {
  const CallScope scope(ctx);
  if (adapter.b.trained) {
    const Tensor t = narrow(ctx, adapter, x, adapter.a.value, Side::transposed);
    multiply(ctx, {.a = dy, .b = t, .c = grad_of(adapter.b), .a_side = Side::transposed, .accumulate = true});
  }
  if (adapter.a.trained) {
    const Tensor t = narrow(ctx, adapter, dy, adapter.b.value, Side::plain);
    multiply(ctx, {.a = t, .b = x, .c = grad_of(adapter.a), .a_side = Side::transposed, .accumulate = true});
  }
}

void Linear::adapt(Index rank, double scale) {
  if (rank < 1)
    throw Error(ErrorKind::usage, "nn.config",
                concat(weight.name, ": an adapter of rank ", rank, "; need 1 or more"));
  const std::string name = weight.name.substr(0, weight.name.rfind(".weight"));
  const DType dtype = weight.value.dtype();
  adapter.a = {name + ".lora_A.weight", Tensor({rank, config_.in}, dtype)};
  adapter.b = {name + ".lora_B.weight", Tensor({config_.out, rank}, dtype)};
  adapter.scale = scale;
}

void Linear::merge_adapter(Context& ctx) {
  const CallScope scope(ctx);
  if (adapter.empty()) return;
  if (!weight.stored.empty())
    throw Error(ErrorKind::usage, "nn.adapter",
                concat(weight.name, ": a stored matrix cannot be changed; keep its adapter separate"));
  // scale·Bᵀ would be a copy of the larger factor: the scale goes to A.
  Tensor scaled = Tensor::uninitialized(adapter.a.value.shape(), adapter.a.value.dtype());
  with_type(scaled.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (Index i = 0, n = scaled.shape().elements(); i < n; ++i)
      scaled.as<T>()[i] = static_cast<T>(adapter.scale) * adapter.a.value.as<T>()[i];
  });
  if (config_.layout == WeightLayout::out_in) {
    multiply(ctx, {.a = adapter.b.value, .b = scaled, .c = weight.value, .accumulate = true});
  } else {
    multiply(ctx, {.a = scaled,
                   .b = adapter.b.value,
                   .c = weight.value,
                   .a_side = Side::transposed,
                   .b_side = Side::transposed,
                   .accumulate = true});
  }
  adapter = {};
}

}  // namespace headlight::nn
