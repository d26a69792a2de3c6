#include "headlight/trace.h"

namespace headlight {

std::string_view name_of(Part part) noexcept {
  switch (part) {
    case Part::encoder: return "encoder";
    case Part::decoder: return "decoder";
    case Part::cross: return "cross";
  }
  return "?";
}

Index AttentionEvent::queries(Index sequence) const {
  const auto s = static_cast<std::size_t>(sequence);
  return options.q_starts[s + 1] - options.q_starts[s];
}
Index AttentionEvent::keys(Index sequence) const {
  const auto s = static_cast<std::size_t>(sequence);
  return options.k_starts[s + 1] - options.k_starts[s];
}

Tensor AttentionEvent::weights(Index sequence, Index head, Range rows) const {
  Tensor result = Tensor::uninitialized({rows.size(), keys(sequence)}, lse.dtype());
  attention_weights(ctx, q, k, lse, options, {sequence, head, rows, {0, keys(sequence)}}, result);
  return result;
}
Tensor AttentionEvent::weights(Index sequence, Index head) const {
  return weights(sequence, head, {0, queries(sequence)});
}

}  // namespace headlight
