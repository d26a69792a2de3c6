#include "headlight/trace.h"

#include "core/concat.h"
#include "headlight/error.h"

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

void AttentionRecorder::on_attention(const AttentionEvent& event) {
  if (options_.part.value_or(event.part) != event.part || options_.layer.value_or(event.layer) != event.layer)
    return;
  if (options_.sequence < 0 || options_.sequence >= event.sequences()) {
    throw Error(ErrorKind::usage, "trace.sequence",
                concat("recorder: sequence ", options_.sequence, " of a run with ", event.sequences()));
  }
  const Index heads = event.q.dim(1);
  if (options_.head && (*options_.head < 0 || *options_.head >= heads)) {
    throw Error(ErrorKind::usage, "trace.head",
                concat("recorder: head ", *options_.head, " of a layer with ", heads, ", numbered from 0"));
  }
  for (Index h = options_.head.value_or(0); h < (options_.head ? *options_.head + 1 : heads); ++h)
    entries_.push_back({event.part, event.layer, h, event.weights(options_.sequence, h)});
}

const Tensor& AttentionRecorder::weights(Part part, int layer, Index head) const {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry)
    if (entry->part == part && entry->layer == layer && entry->head == head) return entry->weights;
  throw Error(
      ErrorKind::usage, "trace.absent",
      concat("recorder: nothing was recorded of head ", head, " in ", name_of(part), " layer ", layer));
}

}  // namespace headlight
