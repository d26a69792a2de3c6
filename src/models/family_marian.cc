// Marian (the opus-mt models): the 2017 transformer, norms after, all sines and then all cosines.
#include <cmath>

#include "models/family_tools.h"

namespace headlight::models {
namespace {

constexpr NameRow kNames[] = {
    {"embedding", "model.shared"},
    {"encoder.{n}.attention.query", "model.encoder.layers.{n}.self_attn.q_proj"},
    {"encoder.{n}.attention.key", "model.encoder.layers.{n}.self_attn.k_proj"},
    {"encoder.{n}.attention.value", "model.encoder.layers.{n}.self_attn.v_proj"},
    {"encoder.{n}.attention.out", "model.encoder.layers.{n}.self_attn.out_proj"},
    {"encoder.{n}.attention_norm", "model.encoder.layers.{n}.self_attn_layer_norm"},
    {"encoder.{n}.feed_forward.up", "model.encoder.layers.{n}.fc1"},
    {"encoder.{n}.feed_forward.down", "model.encoder.layers.{n}.fc2"},
    {"encoder.{n}.feed_forward_norm", "model.encoder.layers.{n}.final_layer_norm"},
    {"decoder.{n}.attention.query", "model.decoder.layers.{n}.self_attn.q_proj"},
    {"decoder.{n}.attention.key", "model.decoder.layers.{n}.self_attn.k_proj"},
    {"decoder.{n}.attention.value", "model.decoder.layers.{n}.self_attn.v_proj"},
    {"decoder.{n}.attention.out", "model.decoder.layers.{n}.self_attn.out_proj"},
    {"decoder.{n}.attention_norm", "model.decoder.layers.{n}.self_attn_layer_norm"},
    {"decoder.{n}.cross.query", "model.decoder.layers.{n}.encoder_attn.q_proj"},
    {"decoder.{n}.cross.key", "model.decoder.layers.{n}.encoder_attn.k_proj"},
    {"decoder.{n}.cross.value", "model.decoder.layers.{n}.encoder_attn.v_proj"},
    {"decoder.{n}.cross.out", "model.decoder.layers.{n}.encoder_attn.out_proj"},
    {"decoder.{n}.cross_norm", "model.decoder.layers.{n}.encoder_attn_layer_norm"},
    {"decoder.{n}.feed_forward.up", "model.decoder.layers.{n}.fc1"},
    {"decoder.{n}.feed_forward.down", "model.decoder.layers.{n}.fc2"},
    {"decoder.{n}.feed_forward_norm", "model.decoder.layers.{n}.final_layer_norm"},
    {"head.projection", "lm_head"},
    {"head.bias", "final_logits_bias"},
    // BART alone
    {"encoder.positions", "model.encoder.embed_positions"},
    {"decoder.positions", "model.decoder.embed_positions"},
    {"encoder.embedding_norm", "model.encoder.layernorm_embedding"},
    {"decoder.embedding_norm", "model.decoder.layernorm_embedding"},
};

// What Marian and BART have in common.
TransformerConfig read_shared(const io::Json& json) {
  TransformerConfig c;
  c.kind = ModelKind::encoder_decoder;
  c.vocabulary = json.integer("vocab_size");
  c.width = json.integer("d_model");
  c.layers = layers_of(json, "decoder_layers");
  c.encoder_layers = layers_of(json, "encoder_layers");
  c.heads = json.integer("decoder_attention_heads");
  c.encoder_heads = json.integer("encoder_attention_heads");
  c.inner = json.integer("decoder_ffn_dim");
  c.encoder_inner = json.integer("encoder_ffn_dim");
  c.max_positions = json.integer("max_position_embeddings");
  c.norm_place = nn::NormPlace::after;
  c.final_norm = false;
  c.activation = activation_of(json, "activation_function");
  if (json.boolean_or("scale_embedding", false)) c.embedding_scale = std::sqrt(static_cast<double>(c.width));
  c.logits_bias = true;
  c.pad_fixed = true;
  c.tied = json.boolean_or("tie_word_embeddings", true);
  refuse_unless(json.boolean_or("share_encoder_decoder_embeddings", true), json,
                "share_encoder_decoder_embeddings", "two vocabularies are not supported");
  c.dropout = json.real_or("dropout", 0);
  c.attention_dropout = json.real_or("attention_dropout", 0);
  c.initial_range = json.real_or("init_std", 0.02);
  c.bos = token_of(json, "bos_token_id");
  c.ends = tokens_of(json, "eos_token_id");
  c.pad = token_of(json, "pad_token_id");
  c.decoder_start = token_of(json, "decoder_start_token_id");
  return c;
}

TransformerConfig read_marian(const io::Json& json) {
  TransformerConfig c = read_shared(json);
  c.positions = PositionKind::sinusoidal;
  return c;
}

TransformerConfig read_bart(const io::Json& json) {
  TransformerConfig c = read_shared(json);
  c.position_offset = 2;
  c.embedding_norm = true;
  return c;
}

std::string write_marian(const TransformerConfig& c) {
  return ConfigWriter()
      .architecture("MarianMTModel")
      .text("model_type", "marian")
      .boolean("is_encoder_decoder", true)
      .integer("vocab_size", c.vocabulary)
      .integer("decoder_vocab_size", c.vocabulary)
      .integer("max_position_embeddings", c.max_positions)
      .integer("d_model", c.width)
      .integer("encoder_layers", c.encoder_layers)
      .integer("decoder_layers", c.layers)
      .integer("encoder_attention_heads", c.encoder_heads)
      .integer("decoder_attention_heads", c.heads)
      .integer("encoder_ffn_dim", c.encoder_inner)
      .integer("decoder_ffn_dim", c.inner)
      .text("activation_function", hub_name(c.activation))
      .boolean("scale_embedding", c.embedding_scale != 1)
      .boolean("static_position_embeddings", true)
      .boolean("share_encoder_decoder_embeddings", true)
      .boolean("tie_word_embeddings", c.tied)
      .real("dropout", c.dropout)
      .real("attention_dropout", c.attention_dropout)
      .real("activation_dropout", 0)
      .real("init_std", c.initial_range)
      .token("bos_token_id", c.bos)
      .tokens("eos_token_id", c.ends)
      .token("pad_token_id", c.pad)
      .token("decoder_start_token_id", c.decoder_start)
      .null("forced_eos_token_id")
      .text("torch_dtype", "float32")
      .finish();
}

}  // namespace

extern const Family kMarian, kBart;
const Family kMarian{"marian", kNames, read_marian, write_marian};
const Family kBart{"bart", kNames, read_bart};

}  // namespace headlight::models
