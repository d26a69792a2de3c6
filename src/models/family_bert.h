// Shared by families derived from BERT.
#pragma once

#include "models/draft.h"
#include "models/family_gguf.h"

namespace headlight::models {

inline constexpr NameRow kBertLayerRows[] = {
    {"embedding", "embeddings.word_embeddings"},
    {"positions", "embeddings.position_embeddings"},
    {"types", "embeddings.token_type_embeddings"},
    {"embedding_norm", "embeddings.LayerNorm"},
    {"attention.query", "attention.self.query"},
    {"attention.key", "attention.self.key"},
    {"attention.value", "attention.self.value"},
    {"attention.out", "attention.output.dense"},
    {"attention_norm", "attention.output.LayerNorm"},
    {"feed_forward.up", "intermediate.dense"},
    {"feed_forward.down", "output.dense"},
    {"feed_forward_norm", "output.LayerNorm"},
};
inline constexpr NameRow kBertRows[] = {
    {"head.transform", "cls.predictions.transform.dense"},
    {"head.norm", "cls.predictions.transform.LayerNorm"},
    {"head.projection", "cls.predictions.decoder"},
    {"head.bias", "cls.predictions.bias"},
};
inline constexpr NameRow kRobertaRows[] = {
    {"head.transform", "lm_head.dense"},
    {"head.norm", "lm_head.layer_norm"},
    {"head.projection", "lm_head.decoder"},
    {"head.bias", "lm_head.bias"},
};

// `rows`, followed by the rows of BERT's layers.
[[nodiscard]] constexpr Names like_bert(std::span<const NameRow> rows, std::string_view prefix) {
  return {.rows = rows, .more = kBertLayerRows, .layer = "encoder.layer.{n}.", .prefix = prefix};
}

// Norms after, learned positions, a masked-token head.
[[nodiscard]] Draft encoder_draft(const Hyperparameters& h);

}  // namespace headlight::models
