#include "measure/decoder_cost.h"

namespace headlight::measure {

DecoderCost decoder_cost(models::Transformer& model, double bytes_per_number) {
  const models::TransformerConfig& config = model.config();
  DecoderCost cost;
  cost.layers = static_cast<Index>(config.decoder.size());
  for (const nn::BlockConfig& block : config.decoder) {
    const nn::MultiHeadAttentionConfig& a = block.attention;
    cost.cache_bytes += 4.0 * static_cast<double>(a.kv_heads * (a.head_dim + a.value_dim()));
    cost.attention_flops += 2.0 * static_cast<double>(a.heads * (a.head_dim + a.value_dim()));
  }
  for (const Parameter* parameter : model.parameters()) {
    const Shape shape = parameter->shape();
    if (shape.rank != 2) continue;
    const auto numbers = static_cast<double>(shape.elements());
    const double bytes = bytes_per_number > 0        ? bytes_per_number * numbers
                         : parameter->stored.empty() ? 4 * numbers
                                                     : static_cast<double>(parameter->stored.bytes());
    const bool table = shape[0] == config.vocabulary, tied = table && config.head.tied;
    if (table && !tied && parameter == model.parameters().front()) {
      cost.table_bytes += bytes;
      continue;
    }
    cost.matrix_bytes += bytes;
    cost.parameters += numbers;
    if (!table) cost.sent_numbers += static_cast<double>(shape[0]) / static_cast<double>(cost.layers);
  }
  return cost;
}

}  // namespace headlight::measure
