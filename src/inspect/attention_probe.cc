#include "inspect/attention_probe.h"

#include "headlight/reference.h"

namespace headlight::inspect {

void AttentionProbe::on_attention(const AttentionEvent& event) {
  if (event.part != request_.part || event.layer != request_.place.layer) return;
  found = true;
  const Index head = request_.place.head, kv = head / (event.q.dim(1) / event.k.dim(1));
  const Index queries = event.queries(0), tokens = event.keys(0), dim = event.q.dim(3);
  const auto copy = [](ConstTensorView from, Index rows) {
    Tensor out({rows, from.dim(1)}, DType::f64);
    for (Index t = 0; t < rows; ++t)
      for (Index d = 0; d < from.dim(1); ++d) out.view().set(t, d, from.at(t, d));
    return out;
  };
  x = copy(event.x, queries);
  if (!event.memory.empty()) memory = copy(event.memory, tokens);
  if (!event.stream.empty()) stream = copy(event.stream, queries);
  options = event.options;
  keys = tokens;
  position = options.visible.position(request_.query, queries, tokens);
  seen = options.visible.keys_for(request_.query, queries, tokens);
  if (!options.alibi_slopes.empty()) slope = options.alibi_slopes.at(head);
  if (!options.sinks.empty()) sink = options.sinks.at(head);
  if (!options.bias.empty()) {
    const auto at = [&](int axis, Index place) { return options.bias.dim(axis) == 1 ? Index{0} : place; };
    for (Index j = 0; j < tokens; ++j)
      bias.push_back(options.bias.at(Index{0}, at(1, head), at(2, request_.query), at(3, j)));
  }
  const Tensor row = event.weights(0, head, {request_.query, request_.query + 1});
  for (Index j = 0; j < tokens; ++j) kernel.push_back(row.at(Index{0}, j));
  reference(event, head, kv, dim);
}

// The reference, computed from the queries and keys that the kernel was given.
void AttentionProbe::reference(const AttentionEvent& event, Index head, Index kv, Index dim) {
  Tensor q({1, 1, 1, dim}, DType::f64), k({1, 1, keys, dim}, DType::f64), out({1, 1, 1, dim}, DType::f64);
  Tensor weights({1, 1, 1, keys}, DType::f64), row, slopes, sinks;
  for (Index d = 0; d < dim; ++d) q.view().set(0, 0, 0, d, event.q.at(0, head, request_.query, d));
  for (Index j = 0; j < keys; ++j)
    for (Index d = 0; d < dim; ++d) k.view().set(0, 0, j, d, event.k.at(0, kv, j, d));
  AttentionOptions o;
  o.scale = options.scale;
  o.softcap = options.softcap;
  o.visible = options.visible;
  o.visible.offset = position;
  if (!bias.empty()) row = Tensor::from(bias, {1, 1, 1, keys}, DType::f64), o.bias = row;
  if (slope != 0) slopes = Tensor::from(Numbers{slope}, {1}, DType::f64), o.alibi_slopes = slopes;
  if (sink) sinks = Tensor::from(Numbers{*sink}, {1}, DType::f64), o.sinks = sinks;
  reference::attention(q, k, k, o, {.out = out, .weights = weights});
  for (Index j = 0; j < keys; ++j) exact.push_back(weights.at(Index{0}, Index{0}, Index{0}, j));
}

}  // namespace headlight::inspect
