// Encoders that differ from BERT in one detail. ELECTRA: embeddings narrower than the model. ALBERT: likewise, and all layers
// share their parameters. MPNet: learned distances in addition to positions. NomicBERT: rotations and gates, no biases.
#include <fmt/format.h>

#include "models/family_bert.h"

namespace headlight::models {
namespace {

constexpr NameRow kElectraRows[] = {
    {"widening", "embeddings_project"},
    {"head.transform", "generator_predictions.dense"},
    {"head.norm", "generator_predictions.LayerNorm"},
    {"head.projection", "generator_lm_head"},
    {"head.bias", "generator_lm_head.bias"},
};
constexpr NameRow kAlbertRows[] = {
    {"widening", "encoder.embedding_hidden_mapping_in"},
    {"attention.query", "attention.query"},
    {"attention.key", "attention.key"},
    {"attention.value", "attention.value"},
    {"attention.out", "attention.dense"},
    {"attention_norm", "attention.LayerNorm"},
    {"feed_forward.up", "ffn"},
    {"feed_forward.down", "ffn_output"},
    {"feed_forward_norm", "full_layer_layer_norm"},
    {"head.transform", "predictions.dense"},
    {"head.norm", "predictions.LayerNorm"},
    {"head.projection", "predictions.decoder"},
    {"head.bias", "predictions.bias"},
};
constexpr NameRow kMpnetRows[] = {
    {"relative", "encoder.relative_attention_bias"},
    {"attention.query", "attention.attn.q"},
    {"attention.key", "attention.attn.k"},
    {"attention.value", "attention.attn.v"},
    {"attention.out", "attention.attn.o"},
    {"attention_norm", "attention.LayerNorm"},
    {"head.transform", "lm_head.dense"},
    {"head.norm", "lm_head.layer_norm"},
    {"head.projection", "lm_head.decoder"},
    {"head.bias", "lm_head.bias"},
};
constexpr NameRow kNomicRows[] = {
    {"embedding_norm", "emb_ln"},
    {"attention.qkv", "attn.Wqkv"},
    {"attention.out", "attn.out_proj"},
    {"attention_norm", "norm1"},
    {"feed_forward.gate", "mlp.fc12"},
    {"feed_forward.gated_up", "mlp.fc11"},
    {"feed_forward.down", "mlp.fc2"},
    {"feed_forward_norm", "norm2"},
    {"head.transform", "cls.predictions.transform.dense"},
    {"head.norm", "cls.predictions.transform.layer_norm"},
    {"head.projection", "cls.predictions.decoder"},
    {"head.bias", "cls.predictions.bias"},
};

// Tables, positions and segments are narrow, and so is the norm of their sum.
void read_narrow(const Hyperparameters& h, EmbeddingConfig& e, Index usual) {
  e.token_types = h.count_or(Key::token_types, 2);
  e.width = h.count_or(Key::embedding_width, usual);
  e.widened = EmbeddingConfig::Widened::sum;
  e.widening_bias = true;
}

TransformerConfig read_electra(const Hyperparameters& h) {
  Draft d = encoder_draft(h);
  read_narrow(h, d.c.embedding, 128);
  d.c.head.masked->activation = nn::Activation::gelu;
  return encoder_of(d);
}

TransformerConfig read_albert(const Hyperparameters& h) {
  Draft d = encoder_draft(h);
  read_narrow(h, d.c.embedding, 128);
  d.c.one_layer = true;
  if (h.count_or(Key::layer_groups, 1) != 1)
    h.refuse(Key::layer_groups, "supported is one group that all layers share");
  if (h.count_or(Key::layers_in_group, 1) != 1) h.refuse(Key::layers_in_group, "supported is one layer");
  return encoder_of(d);
}

TransformerConfig read_mpnet(const Hyperparameters& h) {
  constexpr Index kBuckets = 32;
  Draft d = encoder_draft(h);
  d.c.embedding.position_offset = d.c.pad + 1;
  d.c.max_positions -= d.c.embedding.position_offset;
  d.c.head.masked->activation = nn::Activation::gelu;
  d.c.relative = RelativePositions{kBuckets, 128};
  if (h.count_or(Key::buckets, kBuckets) != kBuckets)
    h.refuse(Key::buckets, fmt::format("this family always uses {}", kBuckets));
  return encoder_of(d);
}

TransformerConfig read_nomic(const Hyperparameters& h) {
  Draft d = encoder_draft(h);
  nn::MultiHeadAttentionConfig& a = d.block.attention;
  d.c.embedding.positions = AddedPositions::none;
  d.c.embedding.token_types = h.count_or(Key::token_types, 2);
  a.projections = nn::Projections::packed;
  a.qkv_bias = a.out_bias = d.block.feed_forward.bias = false;
  a.rope = h.rope({.head_dim = d.head_dim(), .theta = 1000});
  d.block.feed_forward.gated = true;
  return encoder_of(d);
}

constexpr Names kAlbertNames{.rows = kAlbertRows,
                             .more = kBertLayerRows,
                             .layer = "encoder.albert_layer_groups.0.albert_layers.0.",
                             .prefix = "albert."};
constexpr Names kNomicNames{
    .rows = kNomicRows, .more = kBertLayerRows, .layer = "encoder.layers.{n}.", .prefix = "nomic_bert."};

}  // namespace

extern const Family kElectra, kAlbert, kMpnet, kNomicBert;
const Family kElectra{"electra", "", read_electra, like_bert(kElectraRows, "electra.")};
const Family kAlbert{"albert", "", read_albert, kAlbertNames};
const Family kMpnet{"mpnet", "", read_mpnet, like_bert(kMpnetRows, "mpnet.")};
const Family kNomicBert{"nomic_bert", "", read_nomic, kNomicNames};

}  // namespace headlight::models
