#include "dist/head_slices.h"

#include <algorithm>

#include "dist/parts.h"

namespace headlight::dist {
namespace {

constexpr Index kMessage = Index{1} << 18;  // bytes; shorter ones are dominated by latency

SharedCall call_of(const SharedCall& whole, const AttentionOptions& options, Range q_heads, Range kv_heads) {
  SharedCall call{whole.ctx,
                  whole.group,
                  part_of(whole.q, 1, q_heads),
                  part_of(whole.k, 1, kv_heads),
                  part_of(whole.v, 1, kv_heads),
                  options,
                  whole.how,
                  whole.q_shards,
                  whole.k_shards,
                  whole.whole,
                  whole.sums,
                  whole.first_head + q_heads.begin};
  call.whole.q_heads = q_heads.size();
  call.whole.kv_heads = kv_heads.size();
  call.whole.options = &options;
  return call;
}

}  // namespace

Index heads_at_once(const SharedCall& call, Index heads) {
  if (call.how.heads_at_once > 0) return std::min<Index>(heads, call.how.heads_at_once);
  const Problem& p = call.whole;
  const Index bytes = p.batch * call.k_shards.length / call.ranks() * (p.dim + p.value_dim) *
                      static_cast<Index>(size_of(p.dtype));
  return std::clamp<Index>((kMessage + bytes) / std::max<Index>(1, bytes), 1, std::max<Index>(1, heads));
}

std::vector<Range> head_slices(Index heads, Index at_once) {
  std::vector<Range> slices;
  const Index count = std::max<Index>(1, (heads + at_once - 1) / std::max<Index>(1, at_once));
  for (Index n = 0; n < count; ++n) slices.push_back({heads * n / count, heads * (n + 1) / count});
  return slices;
}

AttentionOptions options_of_heads(const AttentionOptions& whole, Range heads) {
  AttentionOptions o = whole;
  o.mask = broadcast_part<ConstTensorView>(o.mask, 1, heads);
  o.bias = broadcast_part<ConstTensorView>(o.bias, 1, heads);
  if (!o.alibi_slopes.empty())
    o.alibi_slopes = part_of(static_cast<const ConstTensorView&>(o.alibi_slopes), 0, heads);
  if (!o.sinks.empty()) o.sinks = part_of(static_cast<const ConstTensorView&>(o.sinks), 0, heads);
  return o;
}

HeadSlice::HeadSlice(const SharedCall& whole, Range heads)
    : kv_heads(heads),
      q_heads{heads.begin * whole.whole.group, heads.end * whole.whole.group},
      options(options_of_heads(whole.options, q_heads)),
      call(call_of(whole, options, q_heads, kv_heads)) {}

template <class View>
View HeadSlice::of_queries(const View& view) const {
  return view.empty() ? view : part_of(view, 1, q_heads);
}
template <class View>
View HeadSlice::of_keys(const View& view) const {
  return view.empty() ? view : part_of(view, 1, kv_heads);
}
template TensorView HeadSlice::of_queries(const TensorView&) const;
template ConstTensorView HeadSlice::of_queries(const ConstTensorView&) const;
template TensorView HeadSlice::of_keys(const TensorView&) const;

}  // namespace headlight::dist
