#include "serve/stored_attention.h"

#include <cstring>

namespace headlight::serve {
namespace {

// The same elements, contiguous; nothing for a view that was not given.
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

}  // namespace

StoredAttention::StoredAttention(const AttentionEvent& event)
    : part_(event.part),
      layer_(event.layer),
      q_(copy_of(event.q)),
      k_(copy_of(event.k)),
      v_(copy_of(event.v)),
      lse_(copy_of(event.lse)),
      x_(copy_of(event.x)),
      memory_(copy_of(event.memory)),
      slopes_(copy_of(event.options.alibi_slopes)),
      bias_(copy_of(event.options.bias)),
      mask_(copy_of(event.options.mask)),
      sinks_(copy_of(event.options.sinks)),
      q_starts_(event.options.q_starts.begin(), event.options.q_starts.end()),
      k_starts_(event.options.k_starts.begin(), event.options.k_starts.end()),
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
  return {ctx, layer_, part_, q_, k_, v_, lse_, options_};
}

std::size_t StoredAttention::bytes() const {
  std::size_t sum = 0;
  for (const Tensor* t : {&q_, &k_, &v_, &lse_, &x_, &memory_, &slopes_, &bias_, &mask_, &sinks_})
    if (!t->empty()) sum += static_cast<std::size_t>(t->shape().elements()) * size_of(t->dtype());
  return sum;
}

}  // namespace headlight::serve
