#include "dist/shared_call.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/view_checks.h"
#include "dist/agreement.h"
#include "dist/group.h"
#include "dist/parts.h"

namespace headlight::dist {
namespace {

alignas(64) constexpr std::byte kNowhere[64] = {};

// A shard as a view of the whole sequence, all tokens at the same address. It serves only the checks of sizes and options,
// which read no element.
ConstTensorView as_whole(const ConstTensorView& shard, Index length) {
  return {kNowhere, shard.dtype(), {shard.dim(0), shard.dim(1), length, shard.dim(3)}, {0, 0, 0, 1}};
}

std::string text_of(std::span<const Index> list) {
  std::string text = concat(list.size(), ":");
  for (const Index x : list) text += concat(" ", x);
  return text;
}

// Short arrays are compared by their numbers, long ones by their shape.
std::string text_of(const ConstTensorView& view) {
  if (view.empty()) return "not given";
  std::string text = concat(name_of(view.dtype()), " ", view.shape().text());
  if (view.rank() != 1) return text;
  for (Index n = 0; n < view.dim(0); ++n) text += concat(" ", std::bit_cast<std::uint64_t>(view.at(n)));
  return text;
}

std::string text_of(const std::optional<Index>& x) { return x ? concat(*x) : "not given"; }

void add_options(Agreement& agreement, const AttentionOptions& o) {
  agreement.add("scale", o.scale ? *o.scale : std::numeric_limits<double>::infinity());
  agreement.add("visible.left", o.visible.left);
  agreement.add("visible.right", o.visible.right);
  agreement.add("visible.prefix", text_of(o.visible.prefix));
  agreement.add("visible.offset", text_of(o.visible.offset));
  agreement.add("visible.chunk", o.visible.chunk);
  agreement.add("softcap", o.softcap);
  agreement.add("alibi_slopes", text_of(o.alibi_slopes));
  agreement.add("bias", text_of(o.bias));
  agreement.add("mask", text_of(o.mask));
  agreement.add("sinks", text_of(o.sinks));
  agreement.add("q_lengths", text_of(o.q_lengths));
  agreement.add("k_lengths", text_of(o.k_lengths));
  agreement.add("q_starts", text_of(o.q_starts));
  agreement.add("k_starts", text_of(o.k_starts));
  agreement.add("dropout.rate", o.dropout.rate);
  agreement.add("dropout.seed", o.dropout.seed);
  agreement.add("dropout.layer", o.dropout.layer);
}

void add_call(Agreement& agreement, Context& ctx, const LocalCall& local) {
  const auto sizes = [](const ConstTensorView& x) {
    return x.rank() == 4
               ? concat(name_of(x.dtype()), " [", x.dim(0), ", ", x.dim(1), ", tokens, ", x.dim(3), "]")
               : concat("of rank ", x.rank());
  };
  agreement.add("q", sizes(local.q));
  agreement.add("k", sizes(local.k));
  agreement.add("v", sizes(local.v));
  agreement.add("method", static_cast<int>(local.how.method));
  agreement.add("layout", static_cast<int>(local.how.layout));
  agreement.add("head_ranks", local.how.head_ranks);
  agreement.add("heads_at_once", local.how.heads_at_once);
  agreement.add("SIMD target", name_of(ctx.target()));  // different targets give different bits
  add_options(agreement, local.options);
  const AttentionGrads* grads = local.grads;
  if (grads == nullptr) return agreement.add("whether lse is wanted", !local.outputs.lse.empty());
  agreement.add("whether dq, dk and dv are wanted",
                concat(!grads->dq.empty(), " ", !grads->dk.empty(), " ", !grads->dv.empty()));
  agreement.add("whether dbias is wanted", !local.grads->dbias.empty());
  agreement.add("whether dsinks is wanted", !local.grads->dsinks.empty());
}

// Checks this rank's memory: dtypes, strides, overlap, and the sizes that do not depend on other ranks.
void check_local(const LocalCall& local) {
  const AttentionOptions none;
  const Problem shard = check_call(local.who, local.q, local.k, local.v, none);
  if (local.grads == nullptr) {
    check_values(local.who, shard);
    check_outputs(local.who, shard, local.outputs);
    return;
  }
  AttentionGrads own = *local.grads;
  own.dbias = {}, own.dsinks = {};  // they belong to the whole call and are checked with it
  check_backward(local.who, shard, *local.saved, local.dout, own);
}

void check_whole_grad(Argument at, const TensorView& view, const ConstTensorView& of, DType sums) {
  if (view.empty()) return;
  if (of.empty()) {
    refuse(
        ErrorKind::input, "attention.grads",
        concat(at.who, ": ", at.name, " is given but its option is not; leave it empty or give the option"));
  }
  check_last_stride(at, view);
  if (view.shape() == of.shape() && view.dtype() == sums && writes_once(view)) return;
  refuse(ErrorKind::input, "attention.grads",
         concat(at.who, ": ", at.name, " is ", described(view), "; need ", name_of(sums), " ",
                of.shape().text(), ", the shape of the whole call, without repeated elements"));
}

void check_length(const LocalCall& local, const char* name, Index found, const Shards& shards, int rank) {
  if (found == shards.size(rank)) return;
  refuse(ErrorKind::input, "dist.shard",
         concat(local.who, ": ", name, " has ", found, " tokens on rank ", rank, " but the ",
                shards.layout == Layout::zigzag ? "zig-zag" : "contiguous", " shard of ", shards.length,
                " tokens over ", shards.ranks, " ranks has ", shards.size(rank),
                "; cut sequences with dist::Shards"));
}

// The backward pass computes weights as exp(score - lse). With a large bias, lse has too few digits for this. One process
// then recomputes weights from whole rows, but no rank of a ring has a whole row.
void check_ring_lse(const LocalCall& local, Method method, DType sums) {
  if (method == Method::heads || local.saved == nullptr || local.options.bias.empty()) return;
  const ConstTensorView& lse = local.saved->lse;
  const double limit = sums == DType::f64 ? 0x1p39 : 0x1p10;
  for (Index b = 0; b < lse.dim(0); ++b)
    for (Index h = 0; h < lse.dim(1); ++h)
      for (Index t = 0; t < lse.dim(2); ++t) {
        const double x = lse.at(b, h, t);
        if (!std::isfinite(x) || std::abs(x) <= limit) continue;
        refuse(
            ErrorKind::input, "dist.large_bias",
            concat(local.who, ": lse is ", x, " under a bias; the ring's backward pass needs at most ", limit,
                   " in magnitude: use Method::heads, or a mask in place of a large negative bias"));
      }
}

// Which method, and how many ranks exchange heads; a hybrid that is one of the others becomes it.
SequenceParallel chosen(const LocalCall& local, Index kv_heads, int ranks) {
  SequenceParallel how = local.how;
  if (how.heads_at_once < 0)
    refuse(ErrorKind::usage, "dist.heads_at_once",
           concat(local.who, ": heads_at_once is ", how.heads_at_once,
                  "; need a number of key heads, or 0 to choose one"));
  if (how.method == Method::automatic) how.method = kv_heads >= ranks ? Method::heads : Method::hybrid;
  if (how.method != Method::hybrid) {
    how.head_ranks = how.method == Method::heads ? ranks : 1;
    return how;
  }
  if (how.head_ranks == 0) {
    how.head_ranks = static_cast<int>(std::min<Index>(ranks, std::max<Index>(1, kv_heads)));
    while (ranks % how.head_ranks != 0) --how.head_ranks;
  }
  if (how.head_ranks < 1 || ranks % how.head_ranks != 0 || (how.head_ranks > kv_heads && how.head_ranks > 1))
    refuse(ErrorKind::usage, "dist.head_ranks",
           concat(local.who, ": head_ranks is ", how.head_ranks, " of ", ranks, " ranks with ", kv_heads,
                  " key heads; need a divisor of the ranks, at most the key heads, or 0 to choose one"));
  if (how.head_ranks == ranks) how.method = Method::heads;
  else if (how.head_ranks == 1) how.method = Method::ring;
  return how;
}

// After the agreement, only an allocation or a peer can fail. Such an error concerns this rank alone, and its text says so.
template <class Work>
void on_this_rank(const Group& group, const Work& work) {
  try {
    work();
  } catch (const RankError&) { throw; } catch (const Error& error) {
    throw RankError(error.kind(), error.code(), rank_prefix(group.rank(), group.size()) + error.what(),
                    group.rank(), false);
  }
}

}  // namespace

SharedCall share_call(Context& ctx, Group& group, const LocalCall& local) {
  Agreement agreement(group, local.who);
  add_call(agreement, ctx, local);
  agreement.check([&] { check_local(local); });
  const Index lengths[] = {local.q.rank() == 4 ? local.q.dim(2) : 0,
                           local.k.rank() == 4 ? local.k.dim(2) : 0};
  Shards q_shards{0, group.size(), local.how.layout}, k_shards = q_shards;
  const std::vector<std::vector<Index>> all = agreement.share(lengths);
  for (const std::vector<Index>& other : all) q_shards.length += other[0], k_shards.length += other[1];

  std::optional<Problem> whole;
  SequenceParallel how;
  const DType sums = accumulation_dtype(local.q.dtype());
  agreement.check([&] {
    check_length(local, "q", lengths[0], q_shards, group.rank());
    check_length(local, "k", lengths[1], k_shards, group.rank());
    whole = check_call(local.who, as_whole(local.q, q_shards.length), as_whole(local.k, k_shards.length),
                       as_whole(local.v, k_shards.length), local.options);
    how = chosen(local, whole->kv_heads, group.size());
    check_ring_lse(local, how.method, sums);
    if (local.grads == nullptr) return;
    check_whole_grad({local.who, "dbias"}, local.grads->dbias, local.options.bias, sums);
    check_whole_grad({local.who, "dsinks"}, local.grads->dsinks, local.options.sinks, sums);
  });
  agreement.settle();
  return {ctx, group, local.q, local.k, local.v, local.options, how, q_shards, k_shards, *whole, sums};
}

void attention_forward(Context& ctx, Group& group, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                       const AttentionOptions& options, const SequenceParallel& how, TensorView out,
                       TensorView lse) {
  const AttentionOutputs outputs{.out = out, .lse = lse};
  const SharedCall call = share_call(ctx, group, {"dist::attention_forward", q, k, v, options, how, outputs});
  on_this_rank(group, [&] {
    if (call.how.method != Method::ring) forward_by_heads(call, outputs);
    else forward_by_ring(call, outputs);
  });
}

void Group::attend(Context& ctx, ConstTensorView q, ConstTensorView k, ConstTensorView v,
                   const AttentionOptions& options, TensorView out, TensorView lse) {
  dist::attention_forward(ctx, *this, q, k, v, options, {}, out, lse);
}

void Group::attend_backward(Context& ctx, const AttentionSaved& saved, ConstTensorView dout,
                            const AttentionOptions& options, const AttentionGrads& grads) {
  dist::attention_backward(ctx, *this, saved, dout, options, {}, grads);
}

void attention_backward(Context& ctx, Group& group, const AttentionSaved& saved, ConstTensorView dout,
                        const AttentionOptions& options, const SequenceParallel& how,
                        const AttentionGrads& grads) {
  const SharedCall call = share_call(
      ctx, group,
      {"dist::attention_backward", saved.q, saved.k, saved.v, options, how, {}, &saved, dout, &grads});
  on_this_rank(group, [&] {
    if (call.how.method != Method::ring) backward_by_heads(call, saved, dout, grads);
    else backward_by_ring(call, saved, dout, grads);
  });
}

}  // namespace headlight::dist
