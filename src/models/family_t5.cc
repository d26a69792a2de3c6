// T5: an encoder-decoder with root mean square norms before, learned distances, unscaled scores and no
// biases. Its later form (v1.1, Flan) has gated layers.
#include <cmath>

#include "models/family_tools.h"

namespace headlight::models {
namespace {

constexpr NameRow kNames[] = {
    {"embedding", "shared"},
    {"encoder.relative", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
    {"encoder.{n}.attention_norm", "encoder.block.{n}.layer.0.layer_norm"},
    {"encoder.{n}.attention.query", "encoder.block.{n}.layer.0.SelfAttention.q"},
    {"encoder.{n}.attention.key", "encoder.block.{n}.layer.0.SelfAttention.k"},
    {"encoder.{n}.attention.value", "encoder.block.{n}.layer.0.SelfAttention.v"},
    {"encoder.{n}.attention.out", "encoder.block.{n}.layer.0.SelfAttention.o"},
    {"encoder.{n}.feed_forward_norm", "encoder.block.{n}.layer.1.layer_norm"},
    {"encoder.{n}.feed_forward.gate", "encoder.block.{n}.layer.1.DenseReluDense.wi_0"},
    {"encoder.{n}.feed_forward.gated_up", "encoder.block.{n}.layer.1.DenseReluDense.wi_1"},
    {"encoder.{n}.feed_forward.up", "encoder.block.{n}.layer.1.DenseReluDense.wi"},
    {"encoder.{n}.feed_forward.down", "encoder.block.{n}.layer.1.DenseReluDense.wo"},
    {"encoder.final_norm", "encoder.final_layer_norm"},
    {"decoder.relative", "decoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
    {"decoder.{n}.attention_norm", "decoder.block.{n}.layer.0.layer_norm"},
    {"decoder.{n}.attention.query", "decoder.block.{n}.layer.0.SelfAttention.q"},
    {"decoder.{n}.attention.key", "decoder.block.{n}.layer.0.SelfAttention.k"},
    {"decoder.{n}.attention.value", "decoder.block.{n}.layer.0.SelfAttention.v"},
    {"decoder.{n}.attention.out", "decoder.block.{n}.layer.0.SelfAttention.o"},
    {"decoder.{n}.cross_norm", "decoder.block.{n}.layer.1.layer_norm"},
    {"decoder.{n}.cross.query", "decoder.block.{n}.layer.1.EncDecAttention.q"},
    {"decoder.{n}.cross.key", "decoder.block.{n}.layer.1.EncDecAttention.k"},
    {"decoder.{n}.cross.value", "decoder.block.{n}.layer.1.EncDecAttention.v"},
    {"decoder.{n}.cross.out", "decoder.block.{n}.layer.1.EncDecAttention.o"},
    {"decoder.{n}.feed_forward_norm", "decoder.block.{n}.layer.2.layer_norm"},
    {"decoder.{n}.feed_forward.gate", "decoder.block.{n}.layer.2.DenseReluDense.wi_0"},
    {"decoder.{n}.feed_forward.gated_up", "decoder.block.{n}.layer.2.DenseReluDense.wi_1"},
    {"decoder.{n}.feed_forward.up", "decoder.block.{n}.layer.2.DenseReluDense.wi"},
    {"decoder.{n}.feed_forward.down", "decoder.block.{n}.layer.2.DenseReluDense.wo"},
    {"decoder.final_norm", "decoder.final_layer_norm"},
    {"head.projection", "lm_head"},
};

TransformerConfig read(const io::Json& json) {
  TransformerConfig c;
  c.kind = ModelKind::encoder_decoder;
  c.vocabulary = json.integer("vocab_size");
  c.width = json.integer("d_model");
  c.encoder_layers = layers_of(json, "num_layers");
  c.layers =
      json.find("num_decoder_layers") != nullptr ? layers_of(json, "num_decoder_layers") : c.encoder_layers;
  c.heads = json.integer("num_heads");
  c.head_dim = json.integer("d_kv");
  c.inner = json.integer("d_ff");
  c.norm = {.kind = nn::NormKind::rms, .eps = json.real_or("layer_norm_epsilon", 1e-6), .bias = false};
  const std::string form = json.text_or("feed_forward_proj", "relu");
  c.gated = form.starts_with("gated-");
  if (form == "relu" || form == "gated-relu") c.activation = nn::Activation::relu;
  else if (form == "gated-gelu") c.activation = nn::Activation::gelu_tanh;
  else if (form == "gelu") c.activation = nn::Activation::gelu;
  else if (form == "gated-silu") c.activation = nn::Activation::silu;
  else
    refuse_unless(false, json, "feed_forward_proj",
                  "known are relu, gelu, gated-relu, gated-gelu and gated-silu");
  c.qkv_bias = c.out_bias = c.feed_forward_bias = false;
  c.attention_scale = 1;
  c.positions = PositionKind::relative;
  c.relative_buckets = json.integer_or("relative_attention_num_buckets", 32);
  c.relative_distance = json.integer_or("relative_attention_max_distance", 128);
  c.tied = json.boolean_or("tie_word_embeddings", true);
  if (json.boolean_or("scale_decoder_outputs", c.tied))
    c.head_scale = 1 / std::sqrt(static_cast<double>(c.width));
  c.dropout = c.attention_dropout = json.real_or("dropout_rate", 0);
  c.ends = tokens_of(json, "eos_token_id");
  c.pad = token_of(json, "pad_token_id");
  c.decoder_start =
      json.find("decoder_start_token_id") != nullptr ? token_of(json, "decoder_start_token_id") : c.pad;
  return c;
}

}  // namespace

extern const Family kT5;
const Family kT5{"t5", kNames, read};

}  // namespace headlight::models
