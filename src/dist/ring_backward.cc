// The backward pass of the ring. dk and dv of a shard travel one hop behind its keys: each rank adds the contributions of
// its queries and sends the sum on; the last rank that needs the keys sends it back to the owner. Sums are in hop order, owner first.
#include <cmath>

#include "attention/part.h"
#include "dist/head_slices.h"
#include "dist/ring.h"

namespace headlight::dist {
namespace {

// dk and dv of one shard, in the type that is summed in, in one piece of memory.
class KeyGrads {
 public:
  explicit KeyGrads(const SharedCall& call) : call_(&call) {
    Index most = 0;
    for (int r = 0; r < call.ranks(); ++r) most = std::max(most, elements(r));
    memory_ = Tensor::uninitialized({most}, call.sums);
  }
  [[nodiscard]] TensorView dk(int owner) { return view(owner, 0, call_->whole.dim); }
  [[nodiscard]] TensorView dv(int owner) {
    return view(owner, dk(owner).shape().elements(), call_->whole.value_dim);
  }
  [[nodiscard]] std::span<std::byte> bytes(int owner) {
    return {memory_.as<std::byte>(), static_cast<std::size_t>(elements(owner)) * size_of(call_->sums)};
  }
  void clear(int owner) { std::memset(memory_.as<std::byte>(), 0, bytes(owner).size()); }
  void add(KeyGrads& other, int owner) {
    add_rows(dk(owner), other.dk(owner));
    add_rows(dv(owner), other.dv(owner));
  }

 private:
  [[nodiscard]] Index elements(int owner) const {
    const Problem& p = call_->whole;
    return p.batch * p.kv_heads * call_->k_shards.size(owner) * (p.dim + p.value_dim);
  }
  [[nodiscard]] TensorView view(int owner, Index first, Index dim) {
    const Problem& p = call_->whole;
    return {memory_.as<std::byte>() + first * static_cast<Index>(size_of(call_->sums)),
            call_->sums,
            {p.batch, p.kv_heads, call_->k_shards.size(owner), dim}};
  }

  const SharedCall* call_;
  Tensor memory_;
};

// A mask or bias of any rank, viewed with all four axes.
TensorView four_axes(const TensorView& view) {
  Shape shape{1, 1, 1, 1}, strides{0, 0, 0, 1};
  for (int axis = 0; axis < view.rank(); ++axis) {
    const auto at = static_cast<std::size_t>(kMaxRank - view.rank() + axis);
    shape.dims[at] = view.dim(axis);
    strides.dims[at] = view.stride(axis);
  }
  return {view.data(), view.dtype(), shape, strides};
}

class BackwardSums {
 public:
  BackwardSums(const SharedCall& call, const RingPlan& plan, const AttentionSaved& saved,
               const ConstTensorView& dout, const AttentionGrads& grads)
      : call_(call),
        plan_(plan),
        grads_(grads),
        q_(call.q, call.sums),
        out_(saved.out, call.sums),
        dout_(dout, call.sums),
        lse_(saved.lse),
        dq_(call.q.shape(), call.sums),
        part_dq_(Tensor::uninitialized(call.q.shape(), call.sums)),
        block_(call),
        part_(call),
        coming_(call),
        going_(call),
        home_(call),
        returning_(call.group) {
    if (!grads.dbias.empty()) dbias_ = Tensor(call.options.bias.shape(), call.sums);
  }

  void run() {
    KeyRing ring(call_, plan_);
    ring_ = &ring;
    const int mine = call_.rank(), hops = plan_.last_hop(mine);
    if (hops > 0) returning_.receive((mine + hops) % call_.ranks(), home_.bytes(mine), ring.tag() + 2);
    ring.turn(*this);
    Transfers last(call_.group);
    send_on(call_.ranks(), last);
    last.wait();
    returning_.wait();
    store();
  }

  // The sums of the hop before are sent on; those that this rank adds to next arrive meanwhile.
  void prepare(int hop, Transfers& moving) {
    if (hop == 0) return;
    send_on(hop, moving);
    const int owner = ring_->owner_at(hop);
    if (ring_->holds(hop)) moving.receive(ring_->previous(), coming_.bytes(owner), ring_->tag() + 1);
  }

  void visit(int owner, const ConstTensorView& k, const ConstTensorView& v) {
    part_.clear(owner);
    const std::vector<RingBlock> blocks = plan_.blocks(call_.rank(), owner);
    if (blocks.empty()) return;
    const Widened wide_k(k, call_.sums), wide_v(v, call_.sums);
    for (const RingBlock& block : blocks) add(block, owner, wide_k.view(), wide_v.view());
  }

  void arrived(int hop) {
    if (!ring_->holds(hop)) return;
    const int owner = ring_->owner_at(hop);
    if (hop == 0) {
      std::swap(part_, going_);
      if (plan_.last_hop(owner) == 0)
        std::memcpy(home_.bytes(owner).data(), going_.bytes(owner).data(), going_.bytes(owner).size());
      return;
    }
    coming_.add(part_, owner);
    std::swap(coming_, going_);
  }

 private:
  // The sums finished at the hop before: to the next rank, or back to the owner after the last hop.
  void send_on(int hop, Transfers& moving) {
    const int done = hop - 1, owner = ring_->owner_at(done);
    if (!ring_->holds(done)) return;
    if (done < plan_.last_hop(owner)) moving.send(ring_->next(), going_.bytes(owner), ring_->tag() + 1);
    else if (done > 0) moving.send(owner, going_.bytes(owner), ring_->tag() + 2);
  }

  void add(const RingBlock& block, int owner, const ConstTensorView& k, const ConstTensorView& v) {
    const auto rows = [&](const auto& view) { return part_of(part_of(view, 0, block.batch), 2, block.rows); };
    const auto keys = [&](const auto& view) { return part_of(part_of(view, 0, block.batch), 2, block.keys); };
    const AttentionOptions options = options_of(call_.options, block);
    AttentionGrads wanted{rows(part_dq_.view()), keys(block_.dk(owner)), keys(block_.dv(owner))};
    Tensor dbias;
    if (!dbias_.empty()) {
      dbias = Tensor(options.bias.shape(), call_.sums);
      wanted.dbias = dbias;
    }
    backward_part(call_.ctx,
                  {rows(q_.view()), keys(k), keys(v), rows(out_.view()),
                   rows(static_cast<const ConstTensorView&>(lse_))},
                  rows(dout_.view()), options, origin_of(call_, block), wanted);
    add_rows(rows(dq_.view()), wanted.dq);
    add_rows(keys(part_.dk(owner)), wanted.dk);
    add_rows(keys(part_.dv(owner)), wanted.dv);
    if (dbias_.empty()) return;
    const TensorView whole =
        broadcast_part(broadcast_part(four_axes(dbias_), 0, block.items), 2, block.seq_rows);
    add_rows(broadcast_part(whole, 3, block.seq_keys), four_axes(dbias));
  }

  // The sink is a key whose value is zero: its gradient is weight·(0 - dout·out), summed over all queries.
  [[nodiscard]] Tensor sink_sums() const {
    const Problem& p = call_.whole;
    Tensor sums({p.q_heads}, DType::f64);
    for (Index b = 0; b < p.batch; ++b)
      for (Index h = 0; h < p.q_heads; ++h)
        for (Index t = 0; t < call_.q.dim(2); ++t) {
          const double lse = lse_.at(b, h, t);
          if (lse == -std::numeric_limits<double>::infinity()) continue;  // padding, which has no sink
          double delta = 0;
          bool silent = true;
          for (Index d = 0; d < p.value_dim; ++d) {
            const double out = out_.view().at(b, h, t, d);
            delta += dout_.view().at(b, h, t, d) * out;
            silent = silent && out == 0;
          }
          // A row that sees no key has no gradient, whatever its dout.
          if (silent) continue;
          sums.as<double>()[h] -= std::exp(call_.options.sinks.at(h) - lse) * delta;
        }
    return sums;
  }

  void store() {
    const int mine = call_.rank();
    if (!grads_.dq.empty()) narrow(dq_.view(), grads_.dq);
    if (!grads_.dk.empty()) narrow(home_.dk(mine), grads_.dk);
    if (!grads_.dv.empty()) narrow(home_.dv(mine), grads_.dv);
    if (!dbias_.empty()) {
      call_.group.sum(dbias_);
      narrow(four_axes(dbias_), four_axes(grads_.dbias));
    }
    if (grads_.dsinks.empty()) return;
    Tensor sums = sink_sums();
    call_.group.sum(sums);
    for (Index h = 0; h < call_.whole.q_heads; ++h) grads_.dsinks.set(h, sums.at(h));
  }

  const SharedCall& call_;
  const RingPlan& plan_;
  const AttentionGrads& grads_;
  const Widened q_, out_, dout_;
  const ConstTensorView lse_;
  Tensor dq_, part_dq_, dbias_;
  KeyGrads block_, part_, coming_, going_,
      home_;  // of a block, this rank's, from the rank before, to the next, complete
  Transfers returning_;
  KeyRing* ring_ = nullptr;
};

}  // namespace

void backward_by_ring(const SharedCall& call, const AttentionSaved& saved, const ConstTensorView& dout,
                      const AttentionGrads& grads) {
  const RingPlan plan(call);
  const Index heads = call.whole.kv_heads;
  // A bias that heads share gets its gradient from all of them at once.
  const Index at_once = grads.dbias.empty() ? heads_at_once(call, heads) : heads;
  for (const Range& some : head_slices(heads, at_once)) {
    const HeadSlice slice(call, some);
    const auto queries = [&](const ConstTensorView& view) { return slice.of_queries(view); };
    AttentionGrads part{.dq = slice.of_queries<TensorView>(grads.dq),
                        .dk = slice.of_keys<TensorView>(grads.dk),
                        .dv = slice.of_keys<TensorView>(grads.dv),
                        .dbias = grads.dbias};
    if (!grads.dsinks.empty())
      part.dsinks = part_of(static_cast<const TensorView&>(grads.dsinks), 0, slice.q_heads);
    const AttentionSaved mine{slice.call.q, slice.call.k, slice.call.v, queries(saved.out),
                              queries(saved.lse)};
    BackwardSums(slice.call, plan, mine, queries(dout), part).run();
  }
}

}  // namespace headlight::dist
