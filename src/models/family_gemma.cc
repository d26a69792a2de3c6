// Gemma 1, 2 and 3: Llama with scaled embeddings; folders store the parameters of norms minus one. From Gemma 2
// on: norms before and after each sublayer, softcaps, and sliding windows in some of the layers.
#include <cmath>

#include "models/family_gguf.h"
#include "models/family_llama.h"

namespace headlight::models {
namespace {

constexpr NameRow kRows[] = {
    {"attention_post_norm", "post_attention_layernorm"},
    {"feed_forward_norm", "pre_feedforward_layernorm"},
    {"feed_forward_post_norm", "post_feedforward_layernorm"},
};

Usual gemma_usual(const Hyperparameters& h) {
  Usual usual = llama_usual(h);
  usual.norm.weight_plus_one = !h.gguf();
  usual.activation = nn::Activation::gelu_tanh;
  usual.tied = true;
  return usual;
}

Draft gemma_draft(const Hyperparameters& h, const Usual& usual, const WindowRule& windows = {}) {
  Draft d = llama_draft(h, usual, windows);
  d.c.embedding.scale = std::sqrt(static_cast<double>(d.c.width));
  // Checkpoints of the first Gemma say "gelu" but use its tanh form.
  nn::Activation& activation = d.block.feed_forward.activation;
  if (activation == nn::Activation::gelu) activation = nn::Activation::gelu_tanh;
  return d;
}

// GGUF files often lack a key for the scale of scores: the largest model of each generation has its own scale.
double scale_of(const Hyperparameters& h, const Draft& d, Index largest_layers) {
  if (!h.gguf()) return 1 / std::sqrt(h.real_or(Key::query_scale, 256));
  if (h.has(Key::attention_scale)) return h.real(Key::attention_scale);
  const Index dims = d.layers == largest_layers ? d.c.width / d.block.attention.heads : d.head_dim();
  return 1 / std::sqrt(static_cast<double>(dims));
}

TransformerConfig read_gemma(const Hyperparameters& h) { return decoder_of(gemma_draft(h, gemma_usual(h))); }

TransformerConfig read_gemma2(const Hyperparameters& h) {
  Draft d = gemma_draft(h, gemma_usual(h), {.usual = 4096, .every = 2});
  d.block.norm_place = nn::NormPlace::both;
  d.block.attention.scale = scale_of(h, d, 46);
  d.block.attention.softcap = h.real_or(Key::attention_softcap, h.gguf() ? 50 : 0);
  d.c.head.softcap = h.real_or(Key::final_softcap, h.gguf() ? 30 : 0);
  return decoder_of(d);
}

TransformerConfig read_gemma3(const Hyperparameters& h) {
  Usual usual = gemma_usual(h);
  usual.head_norm = true;
  usual.needs_activation = h.has(Key::activation);
  Draft d = gemma_draft(h, usual, {.usual = 1024, .every = 6});
  d.block.norm_place = nn::NormPlace::both;
  d.block.attention.scale = scale_of(h, d, 62);
  if (!h.gguf()) d.block.attention.softcap = h.real_or(Key::attention_softcap, 0);
  d.c.head.softcap = h.real_or(Key::final_softcap, 0);
  d.block.attention.rope = h.rope({.head_dim = d.head_dim(), .theta = 1e6});
  d.window_rope = h.window_rope({.head_dim = d.head_dim()});
  return decoder_of(d);
}

// Folders of models that also read images: the text section of the config leaves many fields out.
constexpr KeyDefault kDefaults[] = {
    {Key::vocabulary, 262208}, {Key::width, 2304},  {Key::inner, 9216},      {Key::layers, 26},
    {Key::heads, 8},           {Key::kv_heads, 4},  {Key::head_dim, 256},    {Key::context, 131072},
    {Key::rms_epsilon, 1e-6},  {Key::window, 4096}, {Key::query_scale, 256},
};
constexpr NameRow kMultimodalRows[] = {
    {"attention_post_norm", "post_attention_layernorm"},
    {"feed_forward_norm", "pre_feedforward_layernorm"},
    {"feed_forward_post_norm", "post_feedforward_layernorm"},
    {"head.projection", "language_model.lm_head"},
};
constexpr Names kMultimodalNames{
    .rows = kMultimodalRows, .more = kLlamaRows, .layer = "layers.{n}.", .prefix = "language_model.model."};

}  // namespace

extern const Family kGemma, kGemma2, kGemma3, kGemma3Multimodal;
const Family kGemma{"gemma", "gemma", read_gemma, like_llama(), gguf_names()};
const Family kGemma2{"gemma2", "gemma2", read_gemma2, like_llama(kRows), gguf_names()};
const Family kGemma3{"gemma3_text", "gemma3", read_gemma3, like_llama(kRows), gguf_names()};
const Family kGemma3Multimodal{.name = "gemma3",
                               .read = read_gemma3,
                               .names = kMultimodalNames,
                               .section = "text_config",
                               .defaults = kDefaults};

}  // namespace headlight::models
