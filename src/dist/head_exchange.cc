// Sequence parallelism by heads: ranks exchange tokens for heads, compute whole heads as one process does, and exchange
// back. The arithmetic of a row does not depend on the other heads computed with it, so the bits are those of one process.
#include "dist/exchange.h"

namespace headlight::dist {
namespace {

// The options, restricted to this rank's heads.
AttentionOptions options_of(const SharedCall& call, Range heads) {
  AttentionOptions o = call.options;
  o.mask = broadcast_part<ConstTensorView>(o.mask, 1, heads);
  o.bias = broadcast_part<ConstTensorView>(o.bias, 1, heads);
  if (!o.alibi_slopes.empty())
    o.alibi_slopes = part_of(static_cast<const ConstTensorView&>(o.alibi_slopes), 0, heads);
  if (!o.sinks.empty()) o.sinks = part_of(static_cast<const ConstTensorView&>(o.sinks), 0, heads);
  return o;
}

// All tokens of this rank's heads: q, k, v and the results.
struct WholeHeads {
  Range q_heads, kv_heads;
  Tensor q, k, v, out, lse;

  explicit WholeHeads(const SharedCall& call)
      : q_heads(q_heads_of(call, call.rank())), kv_heads(kv_heads_of(call, call.rank())) {
    const Problem& p = call.whole;
    const Index heads = q_heads.size(), keys = kv_heads.size();
    q = Tensor::uninitialized({p.batch, heads, p.q_total, p.dim}, p.dtype);
    k = Tensor::uninitialized({p.batch, keys, p.k_total, p.dim}, p.dtype);
    v = Tensor::uninitialized({p.batch, keys, p.k_total, p.value_dim}, p.dtype);
    out = Tensor::uninitialized({p.batch, heads, p.q_total, p.value_dim}, p.dtype);
    lse = Tensor::uninitialized({p.batch, heads, p.q_total}, call.sums);
  }
};

// Calls use(i) for every index of a tensor with up to four axes; missing leading axes have index 0.
template <class Use>
void each_place(const ConstTensorView& view, const Use& use) {
  Index size[kMaxRank] = {1, 1, 1, 1}, stride[kMaxRank] = {0, 0, 0, 0};
  for (int axis = 0; axis < view.rank(); ++axis) {
    size[kMaxRank - view.rank() + axis] = view.dim(axis);
    stride[kMaxRank - view.rank() + axis] = view.stride(axis);
  }
  for (Index a = 0; a < size[0]; ++a)
    for (Index b = 0; b < size[1]; ++b)
      for (Index c = 0; c < size[2]; ++c)
        for (Index d = 0; d < size[3]; ++d)
          use(a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3]);
}

// Copies contiguous elements into a view of the same shape.
void copy_elements(const std::byte* from, const TensorView& to) {
  const std::size_t item = size_of(to.dtype());
  each_place(to, [&](Index at) {
    std::memcpy(to.as<std::byte>() + at * static_cast<Index>(item), from, item);
    from += item;
  });
}

bool has_heads(const ConstTensorView& bias, Index heads) {
  return bias.rank() >= 3 && bias.dim(bias.rank() - 3) == heads && heads > 1;
}

// Gathers a gradient: each rank has that of its own heads, and all ranks need it for all heads.
void gather_heads(const SharedCall& call, const Tensor& mine, const TensorView& whole, int axis) {
  const auto bytes = std::span(mine.as<std::byte>(), bytes_of(mine));
  const std::vector<std::vector<std::byte>> all = call.group.all_gather(bytes);
  for (int r = 0; r < call.ranks(); ++r)
    copy_elements(all[static_cast<std::size_t>(r)].data(), part_of(whole, axis, q_heads_of(call, r)));
}

}  // namespace

void forward_by_heads(const SharedCall& call, const AttentionOutputs& outputs) {
  WholeHeads mine(call);
  Exchange there(call);
  there.to_heads(call.q, mine.q, Side::queries);
  there.to_heads(call.k, mine.k, Side::keys);
  there.to_heads(call.v, mine.v, Side::keys);
  there.run();
  if (mine.q_heads.size() > 0) {
    headlight::attention_forward(call.ctx, mine.q, mine.k, mine.v, options_of(call, mine.q_heads),
                                 {.out = mine.out, .lse = mine.lse});
  }
  Exchange back(call);
  back.to_tokens(mine.out, outputs.out, Side::queries);
  back.to_tokens(mine.lse, outputs.lse, Side::queries);
  back.run();
}

namespace {

// dbias and dsinks, first of this rank's heads, then of all heads.
struct HeadGrads {
  Tensor dbias, dsinks;
  int bias_axis = -1;  // the axis of heads in the bias; -1: all heads share the bias

  HeadGrads(const SharedCall& call, const AttentionGrads& grads, const AttentionOptions& mine) {
    if (!grads.dbias.empty()) {
      if (has_heads(call.options.bias, call.whole.q_heads)) bias_axis = call.options.bias.rank() - 3;
      dbias = Tensor(mine.bias.shape(), call.sums);
    }
    if (!grads.dsinks.empty()) dsinks = Tensor(mine.sinks.shape(), call.sums);
  }
  void finish(const SharedCall& call, const AttentionGrads& grads) {
    if (!grads.dsinks.empty()) gather_heads(call, dsinks, grads.dsinks, 0);
    if (grads.dbias.empty()) return;
    if (bias_axis >= 0) return gather_heads(call, dbias, grads.dbias, bias_axis);
    if (call.whole.kv_heads == 1) return from_owner(call, grads.dbias);
    call.group.sum(dbias);
    copy_elements(dbias.as<std::byte>(), grads.dbias);
  }

 private:
  // If one rank computed all heads, nothing is added: adding zeros would turn -0 into 0.
  void from_owner(const SharedCall& call, const TensorView& whole) const {
    const auto bytes = std::span(dbias.as<std::byte>(), bytes_of(dbias));
    const std::vector<std::vector<std::byte>> all = call.group.all_gather(bytes);
    int owner = 0;
    while (kv_heads_of(call, owner).size() == 0) ++owner;
    copy_elements(all[static_cast<std::size_t>(owner)].data(), whole);
  }
};

}  // namespace

void backward_by_heads(const SharedCall& call, const AttentionSaved& saved, const ConstTensorView& dout,
                       const AttentionGrads& grads) {
  WholeHeads mine(call);
  Tensor whole_dout = Tensor::uninitialized(mine.out.shape(), call.whole.dtype);
  Exchange there(call);
  there.to_heads(call.q, mine.q, Side::queries);
  there.to_heads(call.k, mine.k, Side::keys);
  there.to_heads(call.v, mine.v, Side::keys);
  there.to_heads(saved.out, mine.out, Side::queries);
  there.to_heads(saved.lse, mine.lse, Side::queries);
  there.to_heads(dout, whole_dout, Side::queries);
  there.run();

  Tensor dq = Tensor::uninitialized(mine.q.shape(), call.whole.dtype),
         dk = Tensor::uninitialized(mine.k.shape(), call.whole.dtype),
         dv = Tensor::uninitialized(mine.v.shape(), call.whole.dtype);
  const AttentionOptions options = options_of(call, mine.q_heads);
  HeadGrads of_heads(call, grads, options);
  if (mine.q_heads.size() > 0) {
    AttentionGrads wanted{dq, dk, dv};
    if (!grads.dbias.empty()) wanted.dbias = of_heads.dbias;
    if (!grads.dsinks.empty()) wanted.dsinks = of_heads.dsinks;
    headlight::attention_backward(call.ctx, {mine.q, mine.k, mine.v, mine.out, mine.lse}, whole_dout, options,
                                  wanted);
  }
  Exchange back(call);
  back.to_tokens(dq, grads.dq, Side::queries);
  back.to_tokens(dk, grads.dk, Side::keys);
  back.to_tokens(dv, grads.dv, Side::keys);
  back.run();
  of_heads.finish(call, grads);
}

}  // namespace headlight::dist
