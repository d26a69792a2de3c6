// Sequence parallelism by heads: ranks exchange tokens for heads, compute whole heads as one process does, and exchange
// back. A row's arithmetic does not depend on which other heads are computed beside it, so the bits are those of one process.
// In a hybrid only neighbours exchange, and a ring computes their heads.
#include "attention/part.h"
#include "dist/exchange.h"
#include "dist/head_slices.h"

namespace headlight::dist {
namespace {

// This rank's heads, of all tokens or those of its place in the ring, on their way.
struct WholeHeads {
  const HeadRanks& ranks;
  Range q_heads, kv_heads;
  AttentionOptions options;
  Tensor q, k, v, out, lse;

  explicit WholeHeads(const HeadRanks& the_ranks)
      : ranks(the_ranks),
        q_heads(ranks.q_heads_of(ranks.group.rank())),
        kv_heads(ranks.kv_heads_of(ranks.group.rank())),
        options(options_of_heads(ranks.call.options, q_heads)) {
    const Problem& p = ranks.call.whole;
    const Index heads = q_heads.size(), keys = kv_heads.size();
    const Index q_len = ranks.q_shards.size(ranks.place()), k_len = ranks.k_shards.size(ranks.place());
    q = Tensor::uninitialized({p.batch, heads, q_len, p.dim}, p.dtype);
    k = Tensor::uninitialized({p.batch, keys, k_len, p.dim}, p.dtype);
    v = Tensor::uninitialized({p.batch, keys, k_len, p.value_dim}, p.dtype);
    out = Tensor::uninitialized({p.batch, heads, q_len, p.value_dim}, p.dtype);
    lse = Tensor::uninitialized({p.batch, heads, q_len}, ranks.call.sums);
  }
  [[nodiscard]] DropoutOrigin origin() const { return {.head = q_heads.begin}; }

  // The call that the ring computes: these heads, all tokens.
  [[nodiscard]] SharedCall ring_call() const {
    const SharedCall& all = ranks.call;
    SharedCall call{all.ctx,        *ranks.ring,    q,         k,       v, options, all.how,
                    ranks.q_shards, ranks.k_shards, all.whole, all.sums};
    call.whole.q_heads = q_heads.size();
    call.whole.kv_heads = kv_heads.size();
    call.whole.options = &options;
    call.first_head = q_heads.begin;
    return call;
  }
};

// use(i) for every index of a tensor of any rank, as four indices of which the leading ones may be 0.
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

// Contiguous elements into a view of the same shape.
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

// Every rank has the gradient of its heads; all need all of it.
void gather_heads(const HeadRanks& ranks, const Tensor& mine, const TensorView& whole, int axis) {
  const auto bytes = std::span(mine.as<std::byte>(), bytes_of(mine));
  const std::vector<std::vector<std::byte>> all = ranks.group.all_gather(bytes);
  for (int r = 0; r < ranks.group.size(); ++r)
    copy_elements(all[static_cast<std::size_t>(r)].data(), part_of(whole, axis, ranks.q_heads_of(r)));
}

void forward_round(const HeadRanks& ranks, const AttentionOutputs& outputs) {
  const SharedCall& call = ranks.call;
  WholeHeads mine(ranks);
  Exchange there(ranks);
  there.to_heads(call.q, mine.q, Side::queries);
  there.to_heads(call.k, mine.k, Side::keys);
  there.to_heads(call.v, mine.v, Side::keys);
  there.run();
  const AttentionOutputs whole{.out = mine.out, .lse = mine.lse};
  const bool computes = mine.q_heads.size() > 0;
  if (computes && ranks.ring != nullptr) forward_by_ring(mine.ring_call(), whole);
  else if (computes) forward_part(call.ctx, mine.q, mine.k, mine.v, mine.options, mine.origin(), whole);
  Exchange back(ranks);
  back.to_tokens(mine.out, outputs.out, Side::queries);
  back.to_tokens(mine.lse, outputs.lse, Side::queries);
  back.run();
}

}  // namespace

void forward_by_heads(const SharedCall& call, const AttentionOutputs& outputs) {
  const Index rounds = HeadRanks(call).rounds();
  for (Index round = 0; round < rounds; ++round) forward_round(HeadRanks(call, round, rounds), outputs);
}

namespace {

// dbias and dsinks: of this rank's heads first, then of all.
struct HeadGrads {
  const HeadRanks& ranks;
  Tensor dbias, dsinks;
  int bias_axis = -1;  // the bias's axis of heads; -1: it is shared by all heads

  HeadGrads(const HeadRanks& the_ranks, const AttentionGrads& grads, const AttentionOptions& mine)
      : ranks(the_ranks) {
    const SharedCall& call = ranks.call;
    if (!grads.dbias.empty()) {
      if (has_heads(call.options.bias, call.whole.q_heads)) bias_axis = call.options.bias.rank() - 3;
      dbias = Tensor(mine.bias.shape(), call.sums);
    }
    if (!grads.dsinks.empty()) dsinks = Tensor(mine.sinks.shape(), call.sums);
  }
  void finish(const AttentionGrads& grads) {
    if (!grads.dsinks.empty()) gather_heads(ranks, dsinks, grads.dsinks, 0);
    if (grads.dbias.empty()) return;
    if (bias_axis >= 0) return gather_heads(ranks, dbias, grads.dbias, bias_axis);
    if (ranks.call.whole.kv_heads == 1) return from_owner(grads.dbias);
    ranks.group.sum(dbias);
    copy_elements(dbias.as<std::byte>(), grads.dbias);
  }

 private:
  // One rank computed all heads: nothing is added, not even zeros, which would turn -0 into 0.
  void from_owner(const TensorView& whole) const {
    const auto bytes = std::span(dbias.as<std::byte>(), bytes_of(dbias));
    const std::vector<std::vector<std::byte>> all = ranks.group.all_gather(bytes);
    int owner = 0;
    while (ranks.kv_heads_of(owner).size() == 0) ++owner;
    copy_elements(all[static_cast<std::size_t>(owner)].data(), whole);
  }
};

void backward_round(const HeadRanks& ranks, const AttentionSaved& saved, const ConstTensorView& dout,
                    const AttentionGrads& grads) {
  const SharedCall& call = ranks.call;
  WholeHeads mine(ranks);
  Tensor whole_dout = Tensor::uninitialized(mine.out.shape(), call.whole.dtype);
  Exchange there(ranks);
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
  HeadGrads of_heads(ranks, grads, mine.options);
  AttentionGrads wanted{dq, dk, dv};
  if (!grads.dbias.empty()) wanted.dbias = of_heads.dbias;
  if (!grads.dsinks.empty()) wanted.dsinks = of_heads.dsinks;
  const AttentionSaved whole{mine.q, mine.k, mine.v, mine.out, mine.lse};
  const bool computes = mine.q_heads.size() > 0;
  if (computes && ranks.ring != nullptr) backward_by_ring(mine.ring_call(), whole, whole_dout, wanted);
  else if (computes) backward_part(call.ctx, whole, whole_dout, mine.options, mine.origin(), wanted);
  Exchange back(ranks);
  back.to_tokens(dq, grads.dq, Side::queries);
  back.to_tokens(dk, grads.dk, Side::keys);
  back.to_tokens(dv, grads.dv, Side::keys);
  back.run();
  of_heads.finish(grads);
}

}  // namespace

void backward_by_heads(const SharedCall& call, const AttentionSaved& saved, const ConstTensorView& dout,
                       const AttentionGrads& grads) {
  // A bias that heads share gets its gradient from all of them at once.
  const Index rounds = grads.dbias.empty() ? HeadRanks(call).rounds() : 1;
  for (Index round = 0; round < rounds; ++round)
    backward_round(HeadRanks(call, round, rounds), saved, dout, grads);
}

}  // namespace headlight::dist
