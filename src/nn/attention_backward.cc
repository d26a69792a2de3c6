// The backward pass of attention: weights, rotations, norms, projections.
#include "nn/attention.h"
#include "nn/drive.h"
#include "nn/team_attention.h"

namespace headlight::nn {

Tensor MultiHeadAttention::backward(Context& ctx, ConstTensorView x, const AttentionCall& given,
                                    const Saved& saved, ConstTensorView dy, TensorView dmemory,
                                    TensorView dbias) {
  const CallScope scope(ctx);
  const MultiHeadAttentionConfig& c = config_;
  const DType dtype = out.weight.value.dtype();
  if (given.intervention != nullptr) {
    throw Error(ErrorKind::usage, "nn.intervention",
                concat(out.weight.name, ": a run with an intervention has no gradients; train without it"));
  }
  const CompleteCall complete(c, given, x.dim(0), dtype);
  const AttentionCall& call = complete.get();
  if (c.disentangled) {
    throw Error(
        ErrorKind::usage, "nn.inference",
        concat(out.weight.name,
               ": scores with position terms (DeBERTa) have no gradients; such models cannot be trained"));
  }
  const Tensor dmixed = out.backward(ctx, saved.mixed, dy);

  Tensor d = Tensor::uninitialized(saved.projected.shape(), dtype), d_memory;
  if (c.cross) d_memory = Tensor::uninitialized(saved.memory_projected.shape(), dtype);
  const Heads to = heads(d, d_memory.empty() ? TensorView{} : d_memory.view());
  // Attention only reads these; views of heads are the writable kind for forward's sake.
  auto& s = const_cast<Saved&>(saved);
  const Heads from =
      heads(s.projected, s.memory_projected.empty() ? TensorView{} : s.memory_projected.view());
  Heads seen = from, grads = to;
  Tensor dq_normed, dk_normed;
  if (c.head_norm) {
    const bool all = c.head_norm_place == HeadNormPlace::all;
    const auto as_heads = [&](Tensor& of, Index count) {
      return all ? split_heads(of.view(), count) : of.view();
    };
    seen.q = as_heads(s.q_normed, c.heads), seen.k = as_heads(s.k_normed, c.kv_heads);
    dq_normed = Tensor::uninitialized(s.q_normed.shape(), dtype);
    dk_normed = Tensor::uninitialized(s.k_normed.shape(), dtype);
    grads.q = as_heads(dq_normed, c.heads), grads.k = as_heads(dk_normed, c.kv_heads);
  }
  AttentionOptions o = options(call);
  o.q_starts = call.starts;
  o.k_starts = c.cross ? call.memory_starts : call.starts;
  const auto heads_of = [&](const Tensor& mixed) {
    return packed_heads(
        split_heads(TensorView(const_cast<void*>(mixed.view().data()), dtype, mixed.shape()), c.heads));
  };
  Tensor dsinks;
  if (c.sinks) dsinks = Tensor::uninitialized({c.heads}, dtype);
  attend_tokens_backward(
      ctx,
      {packed_heads(seen.q), packed_heads(seen.k), packed_heads(seen.v), heads_of(saved.mixed), saved.lse},
      heads_of(dmixed), o,
      {packed_heads(grads.q), packed_heads(grads.k), packed_heads(grads.v), dbias,
       c.sinks ? dsinks.view() : TensorView{}});
  if (c.sinks) {
    const DefaultFloatMode float_mode;
    const TensorView total = grad_of(sinks);
    for (Index h = 0; h < c.heads; ++h) total.set(h, total.at(h) + dsinks.at(h));
  }
  grow_queries(grads.q, call);
  const bool turned_first = c.head_norm_place == HeadNormPlace::turned;
  if (c.head_norm && turned_first) normalize_back(ctx, from, saved, grads, to);
  if (c.rope) rotate(ctx, turned_first && c.head_norm ? to : grads, call, Way::back);
  if (c.head_norm && !turned_first) normalize_back(ctx, from, saved, grads, to);
  if (c.latent) return backward_latent(ctx, x, saved, d);
  return backward_projections(ctx, x, call, d, d_memory, dmemory);
}

void MultiHeadAttention::normalize_back(Context& ctx, const Heads& from, const Saved& s, const Heads& grads,
                                        const Heads& to) {
  const bool all = config_.head_norm_place == HeadNormPlace::all;
  const auto rows = [&](const TensorView& x) { return all ? joined_heads(x) : x; };
  query_norm.backward(ctx, rows(from.q), s.q_norm, rows(grads.q), rows(to.q));
  key_norm.backward(ctx, rows(from.k), s.k_norm, rows(grads.k), rows(to.k));
}

Tensor MultiHeadAttention::backward_projections(Context& ctx, ConstTensorView x, const AttentionCall& call,
                                                const Tensor& d, const Tensor& d_memory, TensorView dmemory) {
  const MultiHeadAttentionConfig& c = config_;
  if (!packed.empty()) return packed.backward(ctx, x, d);
  const Index q_width = c.heads * c.head_dim, kv_width = c.kv_heads * c.head_dim;
  Tensor dx = Tensor::uninitialized({x.dim(0), c.width}, d.dtype());
  query.backward(ctx, x, columns_of(d.view(), 0, q_width), dx);
  const ConstTensorView kv = c.cross ? d_memory.view() : columns_of(d.view(), q_width, 2 * kv_width);
  const ConstTensorView input = c.cross ? ConstTensorView(call.memory) : x;
  const TensorView target = c.cross ? dmemory : dx.view();
  key.backward(ctx, input, columns_of(kv, 0, kv_width), target, Linear::Write::add);
  value.backward(ctx, input, columns_of(kv, kv_width, kv_width), target, Linear::Write::add);
  return dx;
}

}  // namespace headlight::nn
