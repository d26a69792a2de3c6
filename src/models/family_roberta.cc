// RoBERTa and DistilBERT: BERT by other names.
#include "models/family_tools.h"

namespace headlight::models {
namespace {

constexpr NameRow kRobertaNames[] = {
    {"embedding", "roberta.embeddings.word_embeddings"},
    {"encoder.positions", "roberta.embeddings.position_embeddings"},
    {"encoder.types", "roberta.embeddings.token_type_embeddings"},
    {"encoder.embedding_norm", "roberta.embeddings.LayerNorm"},
    {"encoder.{n}.attention.query", "roberta.encoder.layer.{n}.attention.self.query"},
    {"encoder.{n}.attention.key", "roberta.encoder.layer.{n}.attention.self.key"},
    {"encoder.{n}.attention.value", "roberta.encoder.layer.{n}.attention.self.value"},
    {"encoder.{n}.attention.out", "roberta.encoder.layer.{n}.attention.output.dense"},
    {"encoder.{n}.attention_norm", "roberta.encoder.layer.{n}.attention.output.LayerNorm"},
    {"encoder.{n}.feed_forward.up", "roberta.encoder.layer.{n}.intermediate.dense"},
    {"encoder.{n}.feed_forward.down", "roberta.encoder.layer.{n}.output.dense"},
    {"encoder.{n}.feed_forward_norm", "roberta.encoder.layer.{n}.output.LayerNorm"},
    {"head.transform", "lm_head.dense"},
    {"head.norm", "lm_head.layer_norm"},
    {"head.projection", "lm_head.decoder"},
    {"head.bias", "lm_head.bias"},
};

constexpr NameRow kDistilNames[] = {
    {"embedding", "distilbert.embeddings.word_embeddings"},
    {"encoder.positions", "distilbert.embeddings.position_embeddings"},
    {"encoder.embedding_norm", "distilbert.embeddings.LayerNorm"},
    {"encoder.{n}.attention.query", "distilbert.transformer.layer.{n}.attention.q_lin"},
    {"encoder.{n}.attention.key", "distilbert.transformer.layer.{n}.attention.k_lin"},
    {"encoder.{n}.attention.value", "distilbert.transformer.layer.{n}.attention.v_lin"},
    {"encoder.{n}.attention.out", "distilbert.transformer.layer.{n}.attention.out_lin"},
    {"encoder.{n}.attention_norm", "distilbert.transformer.layer.{n}.sa_layer_norm"},
    {"encoder.{n}.feed_forward.up", "distilbert.transformer.layer.{n}.ffn.lin1"},
    {"encoder.{n}.feed_forward.down", "distilbert.transformer.layer.{n}.ffn.lin2"},
    {"encoder.{n}.feed_forward_norm", "distilbert.transformer.layer.{n}.output_layer_norm"},
    {"head.transform", "vocab_transform"},
    {"head.norm", "vocab_layer_norm"},
    {"head.projection", "vocab_projector"},
    {"head.bias", "vocab_projector.bias"},
};

TransformerConfig encoder_defaults() {
  TransformerConfig c;
  c.kind = ModelKind::encoder;
  c.norm.eps = 1e-12;
  c.norm_place = nn::NormPlace::after;
  c.embedding_norm = true;
  c.final_norm = false;
  c.masked_head = true;
  c.head_bias = true;
  return c;
}

TransformerConfig read_roberta(const io::Json& json) {
  TransformerConfig c = encoder_defaults();
  c.vocabulary = json.integer("vocab_size");
  c.width = json.integer("hidden_size");
  c.layers = layers_of(json, "num_hidden_layers");
  c.heads = json.integer("num_attention_heads");
  c.inner = json.integer("intermediate_size");
  c.pad = token_of(json, "pad_token_id");
  c.position_offset = c.pad + 1;  // the table's rows up to padding's own are never used
  c.max_positions = json.integer("max_position_embeddings") - c.position_offset;
  c.token_types = json.integer_or("type_vocab_size", 2);
  c.norm.eps = json.real_or("layer_norm_eps", 1e-12);
  c.activation = activation_of(json, "hidden_act");
  c.tied = json.boolean_or("tie_word_embeddings", true);
  c.dropout = json.real_or("hidden_dropout_prob", 0);
  c.attention_dropout = json.real_or("attention_probs_dropout_prob", 0);
  c.bos = token_of(json, "bos_token_id");
  c.ends = tokens_of(json, "eos_token_id");
  return c;
}

TransformerConfig read_distilbert(const io::Json& json) {
  TransformerConfig c = encoder_defaults();
  c.vocabulary = json.integer("vocab_size");
  c.width = json.integer("dim");
  c.layers = layers_of(json, "n_layers");
  c.heads = json.integer("n_heads");
  c.inner = json.integer("hidden_dim");
  c.max_positions = json.integer("max_position_embeddings");
  c.activation = activation_of(json, "activation");
  c.tied = json.boolean_or("tie_word_embeddings", true);
  c.dropout = json.real_or("dropout", 0);
  c.attention_dropout = json.real_or("attention_dropout", 0);
  c.pad = token_of(json, "pad_token_id");
  return c;
}

}  // namespace

extern const Family kRoberta, kDistilbert;
const Family kRoberta{"roberta", kRobertaNames, read_roberta, nullptr, "roberta."};
const Family kDistilbert{"distilbert", kDistilNames, read_distilbert, nullptr, "distilbert."};

}  // namespace headlight::models
