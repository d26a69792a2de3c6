// BERT with its masked-token head: norms after, learned positions, segments.
#include "models/family_tools.h"

namespace headlight::models {
namespace {

constexpr NameRow kNames[] = {
    {"embedding", "bert.embeddings.word_embeddings"},
    {"encoder.positions", "bert.embeddings.position_embeddings"},
    {"encoder.types", "bert.embeddings.token_type_embeddings"},
    {"encoder.embedding_norm", "bert.embeddings.LayerNorm"},
    {"encoder.{n}.attention.query", "bert.encoder.layer.{n}.attention.self.query"},
    {"encoder.{n}.attention.key", "bert.encoder.layer.{n}.attention.self.key"},
    {"encoder.{n}.attention.value", "bert.encoder.layer.{n}.attention.self.value"},
    {"encoder.{n}.attention.out", "bert.encoder.layer.{n}.attention.output.dense"},
    {"encoder.{n}.attention_norm", "bert.encoder.layer.{n}.attention.output.LayerNorm"},
    {"encoder.{n}.feed_forward.up", "bert.encoder.layer.{n}.intermediate.dense"},
    {"encoder.{n}.feed_forward.down", "bert.encoder.layer.{n}.output.dense"},
    {"encoder.{n}.feed_forward_norm", "bert.encoder.layer.{n}.output.LayerNorm"},
    {"head.transform", "cls.predictions.transform.dense"},
    {"head.norm", "cls.predictions.transform.LayerNorm"},
    {"head.projection", "cls.predictions.decoder"},
    {"head.bias", "cls.predictions.bias"},
};

TransformerConfig read(const io::Json& json) {
  TransformerConfig c;
  c.kind = ModelKind::encoder;
  c.vocabulary = json.integer("vocab_size");
  c.width = json.integer("hidden_size");
  c.layers = layers_of(json, "num_hidden_layers");
  c.heads = json.integer("num_attention_heads");
  c.inner = json.integer("intermediate_size");
  c.max_positions = json.integer("max_position_embeddings");
  c.token_types = json.integer_or("type_vocab_size", 2);
  c.norm.eps = json.real_or("layer_norm_eps", 1e-12);
  c.norm_place = nn::NormPlace::after;
  c.embedding_norm = true;
  c.final_norm = false;
  c.activation = activation_of(json, "hidden_act");
  c.masked_head = true;
  c.head_bias = true;
  c.tied = json.boolean_or("tie_word_embeddings", true);
  refuse_unless(!json.boolean_or("is_decoder", false), json, "is_decoder",
                "a BERT that decodes is not supported");
  refuse_unless(json.text_or("position_embedding_type", "absolute") == "absolute", json,
                "position_embedding_type", "only absolute positions are supported");
  c.dropout = json.real_or("hidden_dropout_prob", 0);
  c.attention_dropout = json.real_or("attention_probs_dropout_prob", 0);
  c.initial_range = json.real_or("initializer_range", 0.02);
  c.pad = token_of(json, "pad_token_id");
  return c;
}

std::string write(const TransformerConfig& c) {
  return ConfigWriter()
      .architecture("BertForMaskedLM")
      .text("model_type", "bert")
      .integer("vocab_size", c.vocabulary)
      .integer("max_position_embeddings", c.max_positions)
      .integer("hidden_size", c.width)
      .integer("num_hidden_layers", c.layers)
      .integer("num_attention_heads", c.heads)
      .integer("intermediate_size", c.inner)
      .integer("type_vocab_size", c.token_types)
      .text("hidden_act", hub_name(c.activation))
      .real("layer_norm_eps", c.norm.eps)
      .real("hidden_dropout_prob", c.dropout)
      .real("attention_probs_dropout_prob", c.attention_dropout)
      .real("initializer_range", c.initial_range)
      .boolean("tie_word_embeddings", c.tied)
      .token("pad_token_id", c.pad)
      .text("torch_dtype", "float32")
      .finish();
}

}  // namespace

extern const Family kBert;
const Family kBert{"bert", kNames, read, write, "bert."};

}  // namespace headlight::models
