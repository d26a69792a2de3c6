#include "headlight/nn.h"
#include "nn/drive.h"

namespace headlight::nn {
namespace {

// A matrix as one head of one sequence.
ConstTensorView as_head(const Tensor& x) { return {x.view().data(), x.dtype(), {1, 1, x.dim(0), x.dim(1)}}; }
TensorView as_head(Tensor& x) { return {x.view().data(), x.dtype(), {1, 1, x.dim(0), x.dim(1)}}; }

}  // namespace

SelfAttention::SelfAttention(Index width, Index head_dim, bool bias, Visibility visible, DType dtype)
    : query("query", {width, head_dim, bias}, dtype),
      key("key", {width, head_dim, bias}, dtype),
      value("value", {width, head_dim, bias}, dtype),
      visible_(visible) {}

Tensor SelfAttention::forward(Context& ctx, ConstTensorView x, Saved* saved, Tensor* weights) const {
  const CallScope scope(ctx);
  Saved own;
  Saved& s = saved != nullptr ? *saved : own;
  s.q = query.forward(ctx, x);
  s.k = key.forward(ctx, x);
  s.v = value.forward(ctx, x);
  s.out = Tensor::uninitialized(s.q.shape(), s.q.dtype());
  s.lse = Tensor::uninitialized({1, 1, x.dim(0)}, s.q.dtype());
  AttentionOutputs outputs{.out = as_head(s.out), .lse = s.lse};
  if (weights != nullptr) {
    *weights = Tensor::uninitialized({x.dim(0), x.dim(0)}, s.q.dtype());
    outputs.weights = as_head(*weights);
  }
  const Saved& all = s;
  attention_forward(ctx, as_head(all.q), as_head(all.k), as_head(all.v), {.visible = visible_}, outputs);
  return s.out.clone();
}

Tensor SelfAttention::backward(Context& ctx, ConstTensorView x, const Saved& saved, ConstTensorView dy) {
  const CallScope scope(ctx);
  const Shape shape = saved.q.shape();
  Tensor dq = Tensor::uninitialized(shape, x.dtype()), dk = Tensor::uninitialized(shape, x.dtype()),
         dv = Tensor::uninitialized(shape, x.dtype());
  check_matrix("SelfAttention", "dy", dy, x.dtype(), shape[1], shape[0]);
  const ConstTensorView dout(dy.data(), dy.dtype(), {1, 1, shape[0], shape[1]},
                             {shape[0] * dy.stride(0), shape[0] * dy.stride(0), dy.stride(0), 1});
  attention_backward(ctx,
                     {as_head(saved.q), as_head(saved.k), as_head(saved.v), as_head(saved.out), saved.lse},
                     dout, {.visible = visible_}, {as_head(dq), as_head(dk), as_head(dv)});
  Tensor dx = Tensor::uninitialized({x.dim(0), x.dim(1)}, x.dtype());
  query.backward(ctx, x, dq, dx);
  key.backward(ctx, x, dk, dx, Linear::Write::add);
  value.backward(ctx, x, dv, dx, Linear::Write::add);
  return dx;
}

void SelfAttention::collect(Parameters& list) {
  query.collect(list);
  key.collect(list);
  value.collect(list);
}

}  // namespace headlight::nn
