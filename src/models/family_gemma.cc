// Gemma 1, 2 and 3: Llama with scaled embeddings and norms that store their weights less one. From the
// second on norms before and after each step, softcaps, and layers that see a window in turn with others.
#include <cmath>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "models/family_llama.h"
#include "models/family_tools.h"

namespace headlight::models {
namespace {

constexpr NameRow kGemmaNames[] = {
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
};

constexpr NameRow kGemma2Names[] = {
    {"embedding", "model.embed_tokens"},
    {"decoder.{n}.attention_norm", "model.layers.{n}.input_layernorm"},
    {"decoder.{n}.attention.query", "model.layers.{n}.self_attn.q_proj"},
    {"decoder.{n}.attention.key", "model.layers.{n}.self_attn.k_proj"},
    {"decoder.{n}.attention.value", "model.layers.{n}.self_attn.v_proj"},
    {"decoder.{n}.attention.query_norm", "model.layers.{n}.self_attn.q_norm"},
    {"decoder.{n}.attention.key_norm", "model.layers.{n}.self_attn.k_norm"},
    {"decoder.{n}.attention.out", "model.layers.{n}.self_attn.o_proj"},
    {"decoder.{n}.attention_post_norm", "model.layers.{n}.post_attention_layernorm"},
    {"decoder.{n}.feed_forward_norm", "model.layers.{n}.pre_feedforward_layernorm"},
    {"decoder.{n}.feed_forward.gate", "model.layers.{n}.mlp.gate_proj"},
    {"decoder.{n}.feed_forward.gated_up", "model.layers.{n}.mlp.up_proj"},
    {"decoder.{n}.feed_forward.down", "model.layers.{n}.mlp.down_proj"},
    {"decoder.{n}.feed_forward_post_norm", "model.layers.{n}.post_feedforward_layernorm"},
    {"decoder.final_norm", "model.norm"},
    {"head.projection", "lm_head"},
};

TransformerConfig read_gemma(const io::Json& json) {
  TransformerConfig c = read_llama(json);
  c.norm.weight_plus_one = true;
  c.embedding_scale = std::sqrt(static_cast<double>(c.width));
  c.tied = json.boolean_or("tie_word_embeddings", true);
  // Checkpoints of the first Gemma say "gelu" and mean its tanh form.
  if (c.activation == nn::Activation::gelu) c.activation = nn::Activation::gelu_tanh;
  return c;
}

// `every`: the layers that see everything, for config.json without layer_types.
void alternate(TransformerConfig& c, const io::Json& json, Index every) {
  if (json.find("layer_types") != nullptr) return;
  const Index window = json.integer_or("sliding_window", 0);
  if (every < 1) {
    throw Error(ErrorKind::input, "model.config",
                concat(escaped(json.file()), ": sliding_window_pattern is ", every, "; need 1 or more"));
  }
  for (Index n = 0; window > 0 && n < c.layers; ++n) c.windows.push_back((n + 1) % every == 0 ? 0 : window);
}

TransformerConfig read_gemma2(const io::Json& json) {
  TransformerConfig c = read_gemma(json);
  c.norm_place = nn::NormPlace::both;
  c.attention_scale = 1 / std::sqrt(json.real_or("query_pre_attn_scalar", 256));
  c.attention_softcap = json.real_or("attn_logit_softcapping", 0);
  c.final_softcap = json.real_or("final_logit_softcapping", 0);
  alternate(c, json, 2);
  return c;
}

TransformerConfig read_gemma3(const io::Json& json) {
  TransformerConfig c = read_gemma(json);
  c.norm_place = nn::NormPlace::both;
  c.head_norm = true;
  c.attention_scale = 1 / std::sqrt(json.real_or("query_pre_attn_scalar", 256));
  c.attention_softcap = json.real_or("attn_logit_softcapping", 0);
  c.final_softcap = json.real_or("final_logit_softcapping", 0);
  alternate(c, json,
            json.integer_or("sliding_window_pattern", json.integer_or("_sliding_window_pattern", 6)));
  const io::Json* both = json.find("rope_parameters");
  if (both != nullptr && both->find("full_attention") != nullptr) {
    c.rope = rope_entry(both->object("full_attention"), json, 1e6);
    c.window_rope = rope_entry(both->object("sliding_attention"), json, 1e4);
  } else {
    c.window_rope = nn::RopeConfig{.theta = json.real_or("rope_local_base_freq", 1e4)};
  }
  return c;
}

}  // namespace

extern const Family kGemma, kGemma2, kGemma3;
const Family kGemma{"gemma", kGemmaNames, read_gemma, nullptr, "model."};
const Family kGemma2{"gemma2", kGemma2Names, read_gemma2, nullptr, "model."};
const Family kGemma3{"gemma3_text", kGemma2Names, read_gemma3, nullptr, "model."};

}  // namespace headlight::models
