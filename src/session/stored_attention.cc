#include "session/stored_attention.h"

#include <cstring>

namespace headlight::session {
namespace {

// Entry `at` of axis 1 of a contiguous tensor [1, head, …], as [1, 1, …].
ConstTensorView part_of(const Tensor& x, Index at) {
  if (x.empty()) return {};
  Shape shape = x.shape();
  shape.dims[1] = 1;
  const auto offset = static_cast<std::size_t>(at * shape.elements()) * size_of(x.dtype());
  return {x.as<std::byte>() + offset, x.dtype(), shape};
}

}  // namespace

Tensor copy_of(ConstTensorView x) {
  if (x.empty()) return {};
  Tensor out = Tensor::uninitialized(x.shape(), x.dtype());
  const int rank = x.rank();
  const auto dim = [&](int axis) { return axis < rank - 1 ? x.dim(axis) : Index{1}; };
  const auto stride = [&](int axis) { return axis < rank - 1 ? x.stride(axis) : Index{0}; };
  const std::size_t size = size_of(x.dtype()), row = static_cast<std::size_t>(x.dim(rank - 1)) * size;
  std::byte* to = out.as<std::byte>();
  for (Index a = 0; a < dim(0); ++a) {
    for (Index b = 0; b < dim(1); ++b) {
      for (Index c = 0; c < dim(2); ++c, to += row) {
        const Index offset = a * stride(0) + b * stride(1) + c * stride(2);
        std::memcpy(to, x.as<std::byte>() + static_cast<std::size_t>(offset) * size, row);
      }
    }
  }
  return out;
}

StoredAttention::StoredAttention(const AttentionEvent& event, Inputs inputs)
    : part_(event.part),
      layer_(event.layer),
      q_(copy_of(event.q)),
      k_(copy_of(event.k)),
      v_(copy_of(event.v)),
      lse_(copy_of(event.lse)),
      x_(inputs == Inputs::keep ? copy_of(event.x) : Tensor()),
      memory_(inputs == Inputs::keep ? copy_of(event.memory) : Tensor()),
      stream_(inputs == Inputs::keep ? copy_of(event.stream) : Tensor()),
      slopes_(copy_of(event.options.alibi_slopes)),
      bias_(copy_of(event.options.bias)),
      mask_(copy_of(event.options.mask)),
      sinks_(copy_of(event.options.sinks)),
      q_starts_(event.options.q_starts.begin(), event.options.q_starts.end()),
      k_starts_(event.options.k_starts.begin(), event.options.k_starts.end()),
      positions_(event.positions.begin(), event.positions.end()),
      options_(event.options) {
  options_.alibi_slopes = slopes_;
  options_.bias = bias_;
  options_.mask = mask_;
  options_.sinks = sinks_;
  options_.q_starts = q_starts_;
  options_.k_starts = k_starts_;
  options_.q_lengths = {};
  options_.k_lengths = {};
}

AttentionEvent StoredAttention::event(Context& ctx) const {
  return {ctx, layer_, part_, q_, k_, v_, lse_, options_, x_, memory_, stream_, positions_};
}

StoredAttention::OneHead StoredAttention::one_head(Index head) const {
  const Index kv = head / (heads() / kv_heads());
  OneHead one{part_of(q_, head), part_of(k_, kv), part_of(v_, kv), part_of(lse_, head), options_};
  const auto number = [&](const Tensor& list) {
    return list.empty() ? ConstTensorView()
                        : ConstTensorView(
                              list.as<std::byte>() + static_cast<std::size_t>(head) * size_of(list.dtype()),
                              list.dtype(), Shape{1});
  };
  one.options.alibi_slopes = number(slopes_);
  one.options.sinks = number(sinks_);
  one.options.bias = part_of(bias_, bias_.empty() || bias_.dim(1) == 1 ? 0 : head);
  one.options.mask = part_of(mask_, mask_.empty() || mask_.dim(1) == 1 ? 0 : head);
  return one;
}

std::size_t StoredAttention::bytes() const {
  std::size_t sum = 0;
  for (const Tensor* t : {&q_, &k_, &v_, &lse_, &x_, &memory_, &stream_, &slopes_, &bias_, &mask_, &sinks_})
    if (!t->empty()) sum += static_cast<std::size_t>(t->shape().elements()) * size_of(t->dtype());
  return sum;
}

}  // namespace headlight::session
