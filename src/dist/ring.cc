#include "dist/ring.h"

namespace headlight::dist {

KeyRing::KeyRing(const SharedCall& call, const RingPlan& plan)
    : call_(call), plan_(plan), tag_(call.group.state().next_tag()) {
  std::size_t most = 0;
  for (int r = 0; r < call.ranks(); ++r) most = std::max(most, bytes_of_shard(r));
  here_.resize(most);
  if (call.ranks() > 1) arriving_.resize(most);
  pack_rows(call.v, pack_rows(call.k, here_.data()));
}

std::size_t KeyRing::bytes_of_shard(int owner) const { return bytes_of(keys(owner)) + bytes_of(values(owner)); }

ConstTensorView KeyRing::keys(int owner) const {
  const Problem& p = call_.whole;
  return {here_.data(), p.dtype, {p.batch, p.kv_heads, call_.k_shards.size(owner), p.dim}};
}

ConstTensorView KeyRing::values(int owner) const {
  const Problem& p = call_.whole;
  return {here_.data() + bytes_of(keys(owner)), p.dtype, {p.batch, p.kv_heads, call_.k_shards.size(owner), p.value_dim}};
}

// Ranks that are not beyond a shard's last hop send it on and receive it; all ranks know all last hops.
void KeyRing::start(int hop, Transfers& moving) {
  const int here = owner_at(hop), coming = owner_at(hop + 1);
  if (hop + 1 >= call_.ranks()) return;
  if (hop + 1 <= plan_.last_hop(coming))
    moving.receive(previous(), std::span(arriving_).first(bytes_of_shard(coming)), tag_);
  if (hop + 1 <= plan_.last_hop(here)) moving.send(next(), std::span<const std::byte>(here_).first(bytes_of_shard(here)), tag_);
}

namespace {

// This rank's queries against the keys of one shard after the other: (out, lse) of the keys so far.
class ForwardSums {
 public:
  ForwardSums(const SharedCall& call, const RingPlan& plan)
      : call_(call),
        plan_(plan),
        q_(call.q, call.sums),
        out_({call.whole.batch, call.whole.q_heads, call.q.dim(2), call.whole.value_dim}, call.sums),
        lse_({call.whole.batch, call.whole.q_heads, call.q.dim(2)}, call.sums),
        part_out_(Tensor::uninitialized(out_.shape(), call.sums)),
        part_lse_(Tensor::uninitialized(lse_.shape(), call.sums)) {
    fill(lse_);
  }

  void prepare(int, Transfers&) const {}
  void arrived(int) const {}
  void visit(int owner, const ConstTensorView& k, const ConstTensorView& v) {
    const std::vector<RingBlock> blocks = plan_.blocks(call_.rank(), owner);
    if (blocks.empty()) return;
    const Widened wide_k(k, call_.sums), wide_v(v, call_.sums);
    for (const RingBlock& block : blocks) add(block, wide_k.view(), wide_v.view());
  }

  // The sink is one more key, whose value is zero. Padding is no query: not even a sink applies.
  void add_sinks() {
    if (call_.options.sinks.empty()) return;
    fill(part_lse_);
    std::memset(part_out_.as<std::byte>(), 0, bytes_of(part_out_));
    const Problem& p = call_.whole;
    for (Index n = 0; n < p.sequences; ++n) {
      const Sequence s = p.sequence(n);
      Index base = 0;
      for (const Range& run : call_.q_runs()) {
        const Range real{std::max(run.begin, s.q_start), std::min(run.end, s.q_start + s.q_len)};
        for (Index t = real.begin; t < real.end; ++t)
          for (Index h = 0; h < p.q_heads; ++h)
            part_lse_.view().set(s.batch, h, base + t - run.begin, call_.options.sinks.at(h));
        base += run.size();
      }
    }
    headlight::merge(call_.ctx, out_, lse_, part_out_, part_lse_);
  }

  void store(const AttentionOutputs& outputs) const {
    narrow(out_.view(), outputs.out);
    if (!outputs.lse.empty()) narrow(as_rows(lse_.view()), as_rows<TensorView>(outputs.lse));
  }

 private:
  void add(const RingBlock& block, const ConstTensorView& k, const ConstTensorView& v) {
    const auto rows = [&](const auto& view) { return part_of(part_of(view, 0, block.batch), 2, block.rows); };
    const auto keys = [&](const ConstTensorView& view) { return part_of(part_of(view, 0, block.batch), 2, block.keys); };
    const TensorView out = rows(part_out_.view()), lse = rows(part_lse_.view());
    headlight::attention_forward(call_.ctx, rows(q_.view()), keys(k), keys(v), options_of(call_.options, block), out, lse);
    headlight::merge(call_.ctx, rows(out_.view()), rows(lse_.view()), out, lse);
  }

  static void fill(Tensor& lse) {
    const Index n = lse.shape().elements();
    const TensorView flat(lse.as<std::byte>(), lse.dtype(), {n});
    for (Index i = 0; i < n; ++i) flat.set(i, -std::numeric_limits<double>::infinity());
  }

  const SharedCall& call_;
  const RingPlan& plan_;
  const Widened q_;
  Tensor out_, lse_, part_out_, part_lse_;
};

}  // namespace

void forward_by_ring(const SharedCall& call, const AttentionOutputs& outputs) {
  const RingPlan plan(call);
  ForwardSums sums(call, plan);
  KeyRing(call, plan).turn(sums);
  sums.add_sinks();
  sums.store(outputs);
}

}  // namespace headlight::dist
