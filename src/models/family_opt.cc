// OPT and GPT-Neo: GPT-2 with separate projections.
#include "models/family_tools.h"

namespace headlight::models {
namespace {

constexpr NameRow kOptNames[] = {
    {"embedding", "model.decoder.embed_tokens"},
    {"decoder.positions", "model.decoder.embed_positions"},
    {"decoder.{n}.attention_norm", "model.decoder.layers.{n}.self_attn_layer_norm"},
    {"decoder.{n}.attention.query", "model.decoder.layers.{n}.self_attn.q_proj"},
    {"decoder.{n}.attention.key", "model.decoder.layers.{n}.self_attn.k_proj"},
    {"decoder.{n}.attention.value", "model.decoder.layers.{n}.self_attn.v_proj"},
    {"decoder.{n}.attention.out", "model.decoder.layers.{n}.self_attn.out_proj"},
    {"decoder.{n}.feed_forward_norm", "model.decoder.layers.{n}.final_layer_norm"},
    {"decoder.{n}.feed_forward.up", "model.decoder.layers.{n}.fc1"},
    {"decoder.{n}.feed_forward.down", "model.decoder.layers.{n}.fc2"},
    {"decoder.final_norm", "model.decoder.final_layer_norm"},
    {"head.projection", "lm_head"},
};

constexpr NameRow kNeoNames[] = {
    {"embedding", "transformer.wte"},
    {"decoder.positions", "transformer.wpe"},
    {"decoder.{n}.attention_norm", "transformer.h.{n}.ln_1"},
    {"decoder.{n}.attention.query", "transformer.h.{n}.attn.attention.q_proj"},
    {"decoder.{n}.attention.key", "transformer.h.{n}.attn.attention.k_proj"},
    {"decoder.{n}.attention.value", "transformer.h.{n}.attn.attention.v_proj"},
    {"decoder.{n}.attention.out", "transformer.h.{n}.attn.attention.out_proj"},
    {"decoder.{n}.feed_forward_norm", "transformer.h.{n}.ln_2"},
    {"decoder.{n}.feed_forward.up", "transformer.h.{n}.mlp.c_fc"},
    {"decoder.{n}.feed_forward.down", "transformer.h.{n}.mlp.c_proj"},
    {"decoder.final_norm", "transformer.ln_f"},
    {"head.projection", "lm_head"},
};

TransformerConfig read_opt(const io::Json& json) {
  TransformerConfig c;
  c.vocabulary = json.integer("vocab_size");
  c.width = json.integer("hidden_size");
  c.layers = layers_of(json, "num_hidden_layers");
  c.heads = json.integer("num_attention_heads");
  c.inner = json.integer("ffn_dim");
  c.max_positions = json.integer("max_position_embeddings");
  c.position_offset = 2;
  const bool before = json.boolean_or("do_layer_norm_before", true);
  c.norm_place = before ? nn::NormPlace::before : nn::NormPlace::after;
  c.final_norm = before && !json.boolean_or("_remove_final_layer_norm", false);
  c.activation = activation_of(json, "activation_function");
  c.qkv_bias = c.out_bias = c.feed_forward_bias = json.boolean_or("enable_bias", true);
  refuse_unless(json.integer_or("word_embed_proj_dim", c.width) == c.width, json, "word_embed_proj_dim",
                "embeddings narrower than the model are not supported");
  refuse_unless(json.boolean_or("layer_norm_elementwise_affine", true), json, "layer_norm_elementwise_affine",
                "norms without weights are not supported");
  c.tied = json.boolean_or("tie_word_embeddings", true);
  c.dropout = json.real_or("dropout", 0);
  c.attention_dropout = json.real_or("attention_dropout", 0);
  c.bos = token_of(json, "bos_token_id");
  c.ends = tokens_of(json, "eos_token_id");
  c.pad = token_of(json, "pad_token_id");
  return c;
}

// attention_layers, or attention_types: [[["global", "local"], 12]].
std::vector<std::string> neo_layers(const io::Json& json) {
  std::vector<std::string> kinds;
  if (json.find("attention_layers") != nullptr) {
    for (const io::Json& kind : json.list("attention_layers").items()) kinds.push_back(kind.text());
    return kinds;
  }
  for (const io::Json& entry : json.list("attention_types").items()) {
    refuse_unless(entry.items().size() == 2, json, "attention_types", "an entry is not a list and a count");
    for (std::int64_t n = 0; n < entry.items()[1].integer() && kinds.size() < 4096; ++n)
      for (const io::Json& kind : entry.items()[0].items()) kinds.push_back(kind.text());
  }
  return kinds;
}

TransformerConfig read_neo(const io::Json& json) {
  TransformerConfig c;
  c.vocabulary = json.integer("vocab_size");
  c.width = json.integer("hidden_size");
  c.layers = layers_of(json, "num_layers");
  c.heads = json.integer("num_heads");
  c.inner = json.integer_or("intermediate_size", 0);
  c.max_positions = json.integer("max_position_embeddings");
  c.norm.eps = json.real_or("layer_norm_epsilon", 1e-5);
  c.activation = activation_of(json, "activation_function");
  c.qkv_bias = false;
  c.attention_scale = 1;  // scores are not scaled
  for (const std::string& kind : neo_layers(json)) {
    refuse_unless(kind == "global" || kind == "local", json, "attention_layers",
                  "a layer is neither global nor local");
    c.windows.push_back(kind == "local" ? json.integer("window_size") : 0);
  }
  c.tied = json.boolean_or("tie_word_embeddings", true);
  c.dropout = json.real_or("resid_dropout", 0);
  c.attention_dropout = json.real_or("attention_dropout", 0);
  c.bos = token_of(json, "bos_token_id");
  c.ends = tokens_of(json, "eos_token_id");
  c.pad = token_of(json, "pad_token_id");
  return c;
}

}  // namespace

extern const Family kOpt, kGptNeo;
const Family kOpt{"opt", kOptNames, read_opt, nullptr, "model."};
const Family kGptNeo{"gpt_neo", kNeoNames, read_neo, nullptr, "transformer."};

}  // namespace headlight::models
