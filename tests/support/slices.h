// Parts of a call: the same numbers seen through fewer batch items, heads, queries or keys.
#pragma once

#include "support/cases.h"

namespace headlight::testing {

[[nodiscard]] inline TensorView sliced(const TensorView& x, int axis, Index begin, Index n) {
  Shape shape = x.shape(), strides = x.shape();
  for (int a = 0; a < x.rank(); ++a) strides.dims[static_cast<std::size_t>(a)] = x.stride(a);
  shape.dims[static_cast<std::size_t>(axis)] = n;
  auto* data =
      static_cast<std::uint8_t*>(x.data()) + begin * x.stride(axis) * static_cast<Index>(size_of(x.dtype()));
  return {data, x.dtype(), shape, strides};
}

[[nodiscard]] inline ConstTensorView sliced(const ConstTensorView& x, int axis, Index begin, Index n) {
  return sliced(TensorView(const_cast<void*>(x.data()), x.dtype(), x.shape(),
                           [&] {
                             Shape strides = x.shape();
                             for (int a = 0; a < x.rank(); ++a)
                               strides.dims[static_cast<std::size_t>(a)] = x.stride(a);
                             return strides;
                           }()),
                axis, begin, n);
}

// The part of a mask or bias along one of the four axes it broadcasts to.
[[nodiscard]] inline ConstTensorView sliced_broadcast(const ConstTensorView& x, int axis, Index begin,
                                                      Index n) {
  const int own = axis - (kMaxRank - x.rank());
  if (x.empty() || own < 0 || x.dim(own) == 1) return x;
  return sliced(x, own, begin, n);
}

// A call as its arguments.
struct Call {
  ConstTensorView q, k, v;
  AttentionOptions options;
};

[[nodiscard]] inline Call call_of(const Instance& x) {
  return {x.q.view(), x.k.view(), x.v.view(), x.options};
}

[[nodiscard]] inline Call batch_item(const Call& c, Index b) {
  Call part{sliced(c.q, 0, b, 1), sliced(c.k, 0, b, 1), sliced(c.v, 0, b, 1), c.options};
  part.options.mask = sliced_broadcast(c.options.mask, 0, b, 1);
  part.options.bias = sliced_broadcast(c.options.bias, 0, b, 1);
  const auto at = static_cast<std::size_t>(b);
  if (!c.options.q_lengths.empty()) part.options.q_lengths = c.options.q_lengths.subspan(at, 1);
  if (!c.options.k_lengths.empty()) part.options.k_lengths = c.options.k_lengths.subspan(at, 1);
  return part;
}

// One key head with the query heads that share it.
[[nodiscard]] inline Call head_group(const Call& c, Index kv_head) {
  const Index n = c.q.dim(1) / c.k.dim(1), first = kv_head * n;
  Call part{sliced(c.q, 1, first, n), sliced(c.k, 1, kv_head, 1), sliced(c.v, 1, kv_head, 1), c.options};
  part.options.mask = sliced_broadcast(c.options.mask, 1, first, n);
  part.options.bias = sliced_broadcast(c.options.bias, 1, first, n);
  if (!c.options.sinks.empty()) part.options.sinks = sliced(c.options.sinks, 0, first, n);
  if (!c.options.alibi_slopes.empty())
    part.options.alibi_slopes = sliced(c.options.alibi_slopes, 0, first, n);
  return part;
}

// Queries begin … begin+n-1 of a call without lengths, at their own positions.
[[nodiscard]] inline Call some_queries(const Call& c, Index begin, Index n) {
  Call part{sliced(c.q, 2, begin, n), c.k, c.v, c.options};
  part.options.visible.offset = c.options.visible.offset.value_or(c.k.dim(2) - c.q.dim(2)) + begin;
  part.options.mask = sliced_broadcast(c.options.mask, 2, begin, n);
  part.options.bias = sliced_broadcast(c.options.bias, 2, begin, n);
  return part;
}

// The bits of a view in logical order.
[[nodiscard]] std::vector<std::uint8_t> bits_of(const ConstTensorView& view);
// Its numbers in logical order.
[[nodiscard]] std::vector<double> values_of(const ConstTensorView& view);

// out and lse of a call, dense.
struct Answer {
  Tensor out, lse;
};
[[nodiscard]] inline Answer answer(Context& ctx, const Call& c) {
  Answer a{Tensor({c.q.dim(0), c.q.dim(1), c.q.dim(2), c.v.dim(3)}, c.q.dtype()),
           Tensor({c.q.dim(0), c.q.dim(1), c.q.dim(2)}, c.q.dtype() == DType::f64 ? DType::f64 : DType::f32)};
  attention_forward(ctx, c.q, c.k, c.v, c.options, a.out, a.lse);
  return a;
}

}  // namespace headlight::testing
