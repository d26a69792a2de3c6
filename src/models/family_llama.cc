// Llama, Mistral and Qwen: root mean square norms before, rotary positions, gated feed-forward.
#include "models/family_llama.h"

#include <fmt/format.h>

#include "models/family_tools.h"

namespace headlight::models {

TransformerConfig read_llama(const io::Json& json) {
  TransformerConfig c;
  c.vocabulary = json.integer("vocab_size");
  c.width = json.integer("hidden_size");
  c.layers = layers_of(json, "num_hidden_layers");
  c.heads = json.integer("num_attention_heads");
  c.kv_heads = json.integer_or("num_key_value_heads", 0);
  c.head_dim = json.integer_or("head_dim", 0);
  c.inner = json.integer("intermediate_size");
  c.max_positions = json.integer("max_position_embeddings");
  c.norm = {.kind = nn::NormKind::rms, .eps = json.real_or("rms_norm_eps", 1e-6), .bias = false};
  c.activation = activation_of(json, json.find("hidden_act") != nullptr ? "hidden_act" : "hidden_activation");
  c.gated = true;
  c.qkv_bias = c.out_bias = json.boolean_or("attention_bias", false);
  c.feed_forward_bias = json.boolean_or("mlp_bias", false);
  c.positions = PositionKind::rope;
  c.rope = rope_of(json, c.head_dim > 0 ? c.head_dim : c.width / std::max<Index>(1, c.heads));
  c.windows = windows_of(json, c.layers);
  c.tied = json.boolean_or("tie_word_embeddings", false);
  c.attention_dropout = json.real_or("attention_dropout", 0);
  c.initial_range = json.real_or("initializer_range", 0.02);
  c.bos = token_of(json, "bos_token_id");
  c.ends = tokens_of(json, "eos_token_id");
  c.pad = token_of(json, "pad_token_id");
  return c;
}

namespace {

constexpr NameRow kNames[] = {
    {"embedding", "model.embed_tokens"},
    {"decoder.{n}.attention_norm", "model.layers.{n}.input_layernorm"},
    {"decoder.{n}.attention.query", "model.layers.{n}.self_attn.q_proj"},
    {"decoder.{n}.attention.key", "model.layers.{n}.self_attn.k_proj"},
    {"decoder.{n}.attention.value", "model.layers.{n}.self_attn.v_proj"},
    {"decoder.{n}.attention.out", "model.layers.{n}.self_attn.o_proj"},
    {"decoder.{n}.feed_forward_norm", "model.layers.{n}.post_attention_layernorm"},
    {"decoder.{n}.feed_forward.gate", "model.layers.{n}.mlp.gate_proj"},
    {"decoder.{n}.feed_forward.gated_up", "model.layers.{n}.mlp.up_proj"},
    {"decoder.{n}.feed_forward.down", "model.layers.{n}.mlp.down_proj"},
    {"decoder.final_norm", "model.norm"},
    {"head.projection", "lm_head"},
    // Qwen 3 alone
    {"decoder.{n}.attention.query_norm", "model.layers.{n}.self_attn.q_norm"},
    {"decoder.{n}.attention.key_norm", "model.layers.{n}.self_attn.k_norm"},
};

std::string write(const TransformerConfig& c) {
  return ConfigWriter()
      .architecture("LlamaForCausalLM")
      .text("model_type", "llama")
      .integer("vocab_size", c.vocabulary)
      .integer("max_position_embeddings", c.max_positions)
      .integer("hidden_size", c.width)
      .integer("num_hidden_layers", c.layers)
      .integer("num_attention_heads", c.heads)
      .integer("num_key_value_heads", c.kv_heads)
      .integer("head_dim", c.head_dim)
      .integer("intermediate_size", c.inner)
      .text("hidden_act", hub_name(c.activation))
      .real("rms_norm_eps", c.norm.eps)
      .boolean("attention_bias", c.qkv_bias)
      .boolean("mlp_bias", c.feed_forward_bias)
      .real("rope_theta", c.rope.theta)
      .null("rope_scaling")
      .real("attention_dropout", c.attention_dropout)
      .real("initializer_range", c.initial_range)
      .boolean("tie_word_embeddings", c.tied)
      .token("bos_token_id", c.bos)
      .tokens("eos_token_id", c.ends)
      .token("pad_token_id", c.pad)
      .text("torch_dtype", "float32")
      .finish();
}

TransformerConfig read_mistral(const io::Json& json) {
  TransformerConfig c = read_llama(json);
  const Index window = json.integer_or("sliding_window", 0);
  if (window > 0 && c.windows.empty()) c.windows.assign(static_cast<std::size_t>(c.layers), window);
  return c;
}

// Windows are there only when they are switched on; without layer_types, from layer max_window_layers on.
void read_qwen_windows(const io::Json& json, TransformerConfig& c) {
  if (!json.boolean_or("use_sliding_window", false)) return c.windows.clear();
  const io::Json* types = json.find("layer_types");
  if (types != nullptr && !types->is(io::Json::Kind::null)) return;
  const Index window = json.integer_or("sliding_window", 4096),
              first = json.integer_or("max_window_layers", 28);
  refuse_unless(window > 0, json, "sliding_window", fmt::format("{} keys, with use_sliding_window", window));
  refuse_unless(first >= 0, json, "max_window_layers", fmt::format("{} layers", first));
  for (Index n = 0; n < c.layers; ++n) c.windows.push_back(n >= first ? window : 0);
}

TransformerConfig read_qwen2(const io::Json& json) {
  TransformerConfig c = read_llama(json);
  c.qkv_bias = true;
  read_qwen_windows(json, c);
  return c;
}

TransformerConfig read_qwen3(const io::Json& json) {
  TransformerConfig c = read_llama(json);
  c.head_norm = true;
  read_qwen_windows(json, c);
  return c;
}

}  // namespace

extern const Family kLlama, kMistral, kQwen2, kQwen3;
const Family kLlama{"llama", kNames, read_llama, write, "model."};
const Family kMistral{"mistral", kNames, read_mistral, nullptr, "model."};
const Family kQwen2{"qwen2", kNames, read_qwen2, nullptr, "model."};
const Family kQwen3{"qwen3", kNames, read_qwen3, nullptr, "model."};

}  // namespace headlight::models
