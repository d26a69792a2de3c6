// Llama, Mistral and Qwen: root mean square norms before, rotary positions, gated feed-forward.
#include "models/family_llama.h"

#include <fmt/format.h>

#include "models/family_experts.h"
#include "models/family_gguf.h"

namespace headlight::models {

Usual llama_usual(const Hyperparameters& h) { return llama_usual(rms_norm(h)); }

Usual llama_usual(const nn::NormConfig& norm) {
  return {.norm = norm,
          .activation = nn::Activation::silu,
          .gated = true,
          .qkv_bias = false,
          .out_bias = false,
          .feed_forward_bias = false,
          .tied = false};
}

Draft llama_draft(const Hyperparameters& h, const Usual& usual, const WindowRule& windows) {
  Draft d = draft(h, usual);
  d.block.attention.rope = h.rope({.head_dim = d.head_dim()});
  d.windows = h.windows(d.layers, windows);
  return d;
}

namespace {

// Only Llama's GGUF files have rows of queries and keys in the order of their pairs; there it may have experts.
TransformerConfig read_llama(const Hyperparameters& h) {
  Usual usual = llama_usual(h);
  usual.experts = h.gguf();
  Draft d = llama_draft(h, usual);
  d.block.attention.rope->interleaved = h.gguf();
  if (h.gguf() && h.count_or(Key::experts, 0) > 0) {
    d.block.experts = read_experts(h);
    d.block.experts->renormalised = true;
  }
  return decoder_of(d);
}

TransformerConfig read_mistral(const Hyperparameters& h) {
  return decoder_of(llama_draft(h, llama_usual(h), {.every = 0}));
}

// Windows are used only if enabled; without layer_types, from layer max_window_layers on.
TransformerConfig read_qwen(const Hyperparameters& h, const Usual& usual) {
  const Index first = h.count_or(Key::full_layers, 28), window = h.count_or(Key::window, 0);
  const bool slides = h.flag_or(Key::use_window, false);
  if (first < 0) h.refuse(Key::full_layers, "need 0 or more");
  if (slides && window < 1) h.refuse(Key::window, "use_sliding_window is true; need 1 or more");
  Draft d = llama_draft(h, usual, {.every = 0, .first = first});
  if (!slides) d.windows.clear();
  return decoder_of(d);
}

TransformerConfig read_qwen2(const Hyperparameters& h) {
  Usual usual = llama_usual(h);
  usual.qkv_bias = true;
  return read_qwen(h, usual);
}

TransformerConfig read_qwen3(const Hyperparameters& h) {
  Usual usual = llama_usual(h);
  usual.head_norm = true;
  return read_qwen(h, usual);
}

}  // namespace

std::string write_llama_kin(const TransformerConfig& c) {
  const nn::BlockConfig& b = c.decoder.front();
  ConfigWriter w;
  for (const auto& [family, architecture] : {std::pair{"llama", "LlamaForCausalLM"},
                                             {"qwen2", "Qwen2ForCausalLM"},
                                             {"qwen3", "Qwen3ForCausalLM"},
                                             {"olmo2", "Olmo2ForCausalLM"},
                                             {"granite", "GraniteForCausalLM"}})
    if (c.family == family) w.architecture(architecture);
  w.text("model_type", c.family)
      .integer("vocab_size", c.vocabulary)
      .integer("max_position_embeddings", c.max_positions)
      .integer("hidden_size", c.width)
      .integer("num_hidden_layers", static_cast<Index>(c.decoder.size()))
      .integer("num_attention_heads", b.attention.heads)
      .integer("num_key_value_heads", b.attention.kv_heads)
      .integer("head_dim", b.attention.head_dim)
      .integer("intermediate_size", b.feed_forward.inner)
      .text("hidden_act", hub_name(b.feed_forward.activation))
      .real("rms_norm_eps", b.norm.eps);
  // Qwen 2 always has biases of queries, keys and values, and no other.
  if (c.family != "qwen2") w.boolean("attention_bias", b.attention.qkv_bias);
  if (c.family == "llama" || c.family == "granite") w.boolean("mlp_bias", b.feed_forward.bias);
  if (c.family == "granite")
    w.real("attention_multiplier", b.attention.scale.value_or(1))
        .real("residual_multiplier", b.residual_scale)
        .real("embedding_multiplier", c.embedding.scale)
        .real("logits_scaling", 1 / c.head.scale);
  return w.real("rope_theta", b.attention.rope.value_or(nn::RopeConfig{}).theta)
      .null("rope_scaling")
      .real("attention_dropout", b.attention.dropout)
      .real("initializer_range", c.initial_range)
      .boolean("tie_word_embeddings", c.head.tied)
      .token("bos_token_id", c.bos)
      .tokens("eos_token_id", c.ends)
      .token("pad_token_id", c.pad)
      .text("torch_dtype", "float32")
      .finish();
}

extern const Family kLlama, kMistral, kQwen2, kQwen3;
const Family kLlama{"llama", "llama", read_llama, like_llama(), gguf_names(), write_llama_kin};
const Family kMistral{"mistral", "", read_mistral, like_llama()};
const Family kQwen2{"qwen2", "qwen2", read_qwen2, like_llama(), gguf_names(), write_llama_kin};
const Family kQwen3{"qwen3", "qwen3", read_qwen3, like_llama(), gguf_names(), write_llama_kin};

}  // namespace headlight::models
