// Properties derived from a transformer's configuration: its least number of parameters, and whether it can be trained.
#include "models/transformer_config.h"

namespace headlight::models {

std::string why_not_trained(const TransformerConfig& c) {
  for (const auto* stack : {&c.encoder, &c.decoder})
    for (const nn::BlockConfig& block : *stack)
      if (block.attention.disentangled) return "its scores have position terms, which have no gradients here";
  return "";
}

double least_parameters(const TransformerConfig& c) {
  const auto of = [](Index n) { return static_cast<double>(n); };
  const auto attention = [&](const nn::MultiHeadAttentionConfig& a) {
    if (a.latent) {
      const nn::LatentConfig& l = *a.latent;
      const double queries = of(a.heads) * of(a.head_dim), values = of(a.heads) * of(l.value_dim);
      return (l.query_rank > 0 ? of(l.query_rank) * (of(c.width) + queries) : of(c.width) * queries) +
             of(c.width) * of(l.rank + l.turned_dim) + of(c.width) * values +
             of(l.rank) * (queries - of(a.heads) * of(l.turned_dim) + values);
    }
    return 2 * of(c.width) * of(a.head_dim) * (of(a.heads) + of(a.kv_heads));
  };
  double sum = of(c.vocabulary) * of(c.table_width()) * (c.head.tied ? 1 : 2);
  if (c.sound) sum += 3 * of(c.width) * (of(c.sound->bands) + of(c.width));
  for (const Part part : {Part::encoder, Part::decoder}) {
    const std::vector<nn::BlockConfig>* stack = &c.layers(part);
    if (stack->empty()) continue;
    if (c.embedding.positions == AddedPositions::learned)
      sum += of(c.positions_of(part) + c.embedding.position_offset) * of(c.table_width());
    if (c.relative) sum += of(c.relative->buckets) * of(stack->front().attention.heads);
    for (const nn::BlockConfig& b : *stack) {
      sum += attention(b.attention) + (b.cross ? attention(*b.cross) : 0);
      const double matrices = b.feed_forward.gated ? 3 : 2, experts = b.experts ? of(b.experts->count) : 1;
      sum += matrices * of(c.width) * of(b.feed_forward.inner) * experts;
      if (b.experts) sum += of(c.width) * (matrices * of(b.experts->shared_inner) + experts);
      if (c.one_layer) break;
    }
  }
  return sum + of(c.embedding.token_types) * of(c.table_width());
}

}  // namespace headlight::models
