// Families that differ from Llama in one or two details. OLMo 2: norms of the outputs of sublayers, and of all queries and
// keys as one row. EXAONE 4: likewise, but norms of single heads, and rotations only in layers with a window. SmolLM 3: no
// rotations in some layers. Granite: factors of embeddings, scores, outputs of sublayers and logits.
#include "models/family_gguf.h"
#include "models/family_llama.h"

namespace headlight::models {
namespace {

constexpr NameRow kOutputNormRows[] = {
    {"attention_post_norm", "post_attention_layernorm"},
    {"feed_forward_post_norm", "post_feedforward_layernorm"},
};

TransformerConfig read_olmo2(const Hyperparameters& h) {
  Usual usual = llama_usual(h);
  usual.head_norm = true;
  Draft d = llama_draft(h, usual);
  d.block.norm_place = nn::NormPlace::output;
  d.block.attention.head_norm_place = nn::HeadNormPlace::all;
  return decoder_of(d);
}

TransformerConfig read_exaone4(const Hyperparameters& h) {
  Usual usual = llama_usual(h);
  usual.head_norm = true;
  Draft d = llama_draft(h, usual, {.every = 4});
  d.block.norm_place = nn::NormPlace::output;
  TransformerConfig c = decoder_of(d);
  const bool slides = h.has(Key::window) && h.count(Key::window) > 0;
  for (std::size_t n = 0; slides && n < c.decoder.size(); ++n)
    if (d.windows[n] == 0) c.decoder[n].attention.rope.reset();
  return c;
}

TransformerConfig read_smollm3(const Hyperparameters& h) {
  Usual usual = llama_usual(h);
  usual.tied = true;
  Draft d = llama_draft(h, usual, {.every = 0});
  if (!h.flag_or(Key::use_window, false)) d.windows.clear();
  d.block.attention.rope->interleaved = h.gguf();
  TransformerConfig c = decoder_of(d);
  skip_rotations(h, c, 4);
  return c;
}

TransformerConfig read_granite(const Hyperparameters& h) {
  Usual usual = llama_usual(h);
  Draft d = llama_draft(h, usual);
  d.block.attention.rope->interleaved = h.gguf();
  if (h.has(Key::attention_scale)) d.block.attention.scale = h.real(Key::attention_scale);
  else if (!h.gguf()) d.block.attention.scale = 1;
  d.block.residual_scale = h.real_or(Key::residual_scale, 1);
  d.c.embedding.scale = h.real_or(Key::embedding_scale, 1);
  const double divisor = h.real_or(Key::logits_divisor, 1);
  if (divisor == 0) h.refuse(Key::logits_divisor, "logits cannot be divided by it");
  d.c.head.scale = 1 / divisor;
  return decoder_of(d);
}

}  // namespace

extern const Family kOlmo2, kExaone4, kSmollm3, kGranite;
const Family kOlmo2{"olmo2", "olmo2", read_olmo2, like_llama(kOutputNormRows), gguf_names(), write_llama_kin};
const Family kExaone4{"exaone4", "exaone4", read_exaone4, like_llama(kOutputNormRows), gguf_names()};
const Family kSmollm3{"smollm3", "smollm3", read_smollm3, like_llama(), gguf_names()};
const Family kGranite{"granite", "granite", read_granite, like_llama(), gguf_names(), write_llama_kin};

}  // namespace headlight::models
