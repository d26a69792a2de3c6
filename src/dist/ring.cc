#include "dist/ring.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/part.h"
#include "dist/head_slices.h"

namespace headlight::dist {

KeyRing::KeyRing(const SharedCall& call, const RingPlan& plan)
    : call_(call), plan_(plan), tag_(call.group.state().next_tag()) {
  std::size_t most = 0;
  for (int r = 0; r < call.ranks(); ++r) most = std::max(most, bytes_of_shard(r));
  here_.resize(most);
  if (call.ranks() > 1) arriving_.resize(most);
  pack_rows(call.v, pack_rows(call.k, here_.data()));
}

std::size_t KeyRing::bytes_of_shard(int owner) const {
  return bytes_of(keys(owner)) + bytes_of(values(owner));
}

ConstTensorView KeyRing::keys(int owner) const {
  const Problem& p = call_.whole;
  return {here_.data(), p.dtype, {p.batch, p.kv_heads, call_.k_shards.size(owner), p.dim}};
}

ConstTensorView KeyRing::values(int owner) const {
  const Problem& p = call_.whole;
  return {here_.data() + bytes_of(keys(owner)),
          p.dtype,
          {p.batch, p.kv_heads, call_.k_shards.size(owner), p.value_dim}};
}

// Ranks that are not beyond a shard's last hop send it on and receive it; all ranks know all last hops.
void KeyRing::start(int hop, Transfers& moving) {
  const int here = owner_at(hop), coming = owner_at(hop + 1);
  if (hop + 1 >= call_.ranks()) return;
  if (hop + 1 <= plan_.last_hop(coming))
    moving.receive(previous(), std::span(arriving_).first(bytes_of_shard(coming)), tag_);
  if (hop + 1 <= plan_.last_hop(here))
    moving.send(next(), std::span<const std::byte>(here_).first(bytes_of_shard(here)), tag_);
}

namespace {

// This rank's queries against the keys of one shard after the other: (out, lse) of the keys so far. lse is kept as
// top + rest. Without a bias top is 0. A bias may be so large that lse has no digits for the number of keys behind it; then
// top is the largest score, and rest the logarithm of a sum that starts from 1.
class ForwardSums {
 public:
  ForwardSums(const SharedCall& call, const RingPlan& plan)
      : call_(call),
        plan_(plan),
        has_bias_(!call.options.bias.empty()),
        q_(call.q, call.sums),
        out_({call.whole.batch, call.whole.q_heads, call.q.dim(2), call.whole.value_dim}, call.sums),
        rest_({call.whole.batch, call.whole.q_heads, call.q.dim(2)}, DType::f64),
        top_(rest_.shape(), DType::f64),
        part_out_(Tensor::uninitialized(out_.shape(), call.sums)),
        part_rest_(Tensor::uninitialized(rest_.shape(), DType::f64)),
        part_lse_(Tensor::uninitialized(rest_.shape(), call.sums)) {
    fill(rest_);
    if (!has_bias_) return;
    part_max_ = Tensor::uninitialized(rest_.shape(), call.sums);
    part_heaviest_ = Tensor::uninitialized({out_.dim(0), out_.dim(1), out_.dim(2), 1}, call.sums);
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
    fill(part_rest_);
    std::memset(part_out_.as<std::byte>(), 0, bytes_of(part_out_));
    const Problem& p = call_.whole;
    for (Index n = 0; n < p.sequences; ++n) {
      const Sequence s = p.sequence(n);
      Index base = 0;
      for (const Range& run : call_.q_runs()) {
        const Range real{std::max(run.begin, s.q_start), std::min(run.end, s.q_start + s.q_len)};
        for (Index t = real.begin; t < real.end; ++t)
          for (Index h = 0; h < p.q_heads; ++h)
            set_part(s.batch, h, base + t - run.begin, call_.options.sinks.at(h), 0);
        base += run.size();
      }
    }
    headlight::merge(call_.ctx, out_, rest_, part_out_, part_rest_);
  }

  void store(const AttentionOutputs& outputs) const {
    narrow(out_.view(), outputs.out);
    if (outputs.lse.empty()) return;
    each_query({0, rest_.dim(0)}, {0, rest_.dim(2)}, [&](Index b, Index h, Index t) {
      outputs.lse.set(b, h, t, top_.at(b, h, t) + rest_.at(b, h, t));
    });
  }

 private:
  void add(const RingBlock& block, const ConstTensorView& k, const ConstTensorView& v) {
    const auto rows = [&](const auto& view) { return part_of(part_of(view, 0, block.batch), 2, block.rows); };
    const auto keys = [&](const ConstTensorView& view) {
      return part_of(part_of(view, 0, block.batch), 2, block.keys);
    };
    AttentionOutputs part{.out = rows(part_out_.view()), .lse = rows(part_lse_.view())};
    if (has_bias_) part.max = rows(part_max_.view()), part.topk_weight = rows(part_heaviest_.view());
    forward_part(call_.ctx, rows(q_.view()), keys(k), keys(v), options_of(call_.options, block),
                 origin_of(call_, block), part);
    each_query(block.batch, block.rows, [&](Index b, Index h, Index t) {
      if (!has_bias_) set_part(b, h, t, part_lse_.at(b, h, t), 0);
      // The key with the largest weight has exp(max - max) / sum.
      else set_part(b, h, t, part_max_.at(b, h, t), -std::log(part_heaviest_.at(b, h, t, 0)));
    });
    headlight::merge(call_.ctx, rows(out_.view()), rows(rest_.view()), part.out, rows(part_rest_.view()));
  }

  // The part's lse is high + low; `high` may raise the row's top.
  void set_part(Index b, Index h, Index t, double high, double low) {
    const TensorView top = top_.view(), rest = rest_.view();
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    if (has_bias_ && std::isfinite(high)) {
      const double before = top.at(b, h, t);
      const bool empty = rest.at(b, h, t) == kNone;
      if (empty || high > before) {
        if (!empty) rest.set(b, h, t, rest.at(b, h, t) + (before - high));
        top.set(b, h, t, high);
      }
    }
    part_rest_.view().set(b, h, t, high == kNone ? kNone : high - top.at(b, h, t) + low);
  }

  template <class Use>
  void each_query(Range batch, Range rows, const Use& use) const {
    for (Index b = batch.begin; b < batch.end; ++b)
      for (Index h = 0; h < rest_.dim(1); ++h)
        for (Index t = rows.begin; t < rows.end; ++t) use(b, h, t);
  }

  static void fill(Tensor& rest) {
    std::fill_n(rest.as<double>(), rest.shape().elements(), -std::numeric_limits<double>::infinity());
  }

  const SharedCall& call_;
  const RingPlan& plan_;
  const bool has_bias_;
  const Widened q_;
  Tensor out_, rest_, top_, part_out_, part_rest_, part_lse_, part_max_, part_heaviest_;
};

}  // namespace

void forward_by_ring(const SharedCall& call, const AttentionOutputs& outputs) {
  const RingPlan plan(call);
  for (const Range& heads : head_slices(call.whole.kv_heads, heads_at_once(call, call.whole.kv_heads))) {
    const HeadSlice slice(call, heads);
    ForwardSums sums(slice.call, plan);
    KeyRing(slice.call, plan).turn(sums);
    sums.add_sinks();
    sums.store(
        {.out = slice.of_queries<TensorView>(outputs.out), .lse = slice.of_queries<TensorView>(outputs.lse)});
  }
}

}  // namespace headlight::dist
