// GPT-2: norms before, learned positions, one matrix for queries, keys and values. Its linear layers are
// stored [in, out]; everyone else's [out, in].
#include "models/family_tools.h"

namespace headlight::models {
namespace {

constexpr NameRow kNames[] = {
    {"embedding", "transformer.wte"},
    {"decoder.positions", "transformer.wpe"},
    {"decoder.{n}.attention_norm", "transformer.h.{n}.ln_1"},
    {"decoder.{n}.attention.qkv", "transformer.h.{n}.attn.c_attn"},
    {"decoder.{n}.attention.out", "transformer.h.{n}.attn.c_proj"},
    {"decoder.{n}.feed_forward_norm", "transformer.h.{n}.ln_2"},
    {"decoder.{n}.feed_forward.up", "transformer.h.{n}.mlp.c_fc"},
    {"decoder.{n}.feed_forward.down", "transformer.h.{n}.mlp.c_proj"},
    {"decoder.final_norm", "transformer.ln_f"},
    {"head.projection", "lm_head"},
};

TransformerConfig read(const io::Json& json) {
  TransformerConfig c;
  c.vocabulary = json.integer("vocab_size");
  c.width = json.integer("n_embd");
  c.layers = layers_of(json, "n_layer");
  c.heads = json.integer("n_head");
  c.inner = json.integer_or("n_inner", 0);
  c.max_positions = json.integer("n_positions");
  c.norm.eps = json.real_or("layer_norm_epsilon", 1e-5);
  c.activation = activation_of(json, "activation_function");
  c.projections = nn::Projections::packed;
  c.layout = nn::WeightLayout::in_out;
  if (!json.boolean_or("scale_attn_weights", true)) c.attention_scale = 1;
  refuse_unless(!json.boolean_or("scale_attn_by_inverse_layer_idx", false), json,
                "scale_attn_by_inverse_layer_idx", "scores that shrink with the layer are not supported");
  refuse_unless(!json.boolean_or("add_cross_attention", false), json, "add_cross_attention",
                "a decoder with cross-attention is not supported");
  c.tied = json.boolean_or("tie_word_embeddings", true);
  c.dropout = json.real_or("resid_pdrop", 0);
  c.attention_dropout = json.real_or("attn_pdrop", 0);
  c.initial_range = json.real_or("initializer_range", 0.02);
  c.bos = token_of(json, "bos_token_id");
  c.ends = tokens_of(json, "eos_token_id");
  c.pad = token_of(json, "pad_token_id");
  return c;
}

std::string write(const TransformerConfig& c) {
  return ConfigWriter()
      .architecture("GPT2LMHeadModel")
      .text("model_type", "gpt2")
      .integer("vocab_size", c.vocabulary)
      .integer("n_positions", c.max_positions)
      .integer("n_embd", c.width)
      .integer("n_layer", c.layers)
      .integer("n_head", c.heads)
      .integer("n_inner", c.inner)
      .text("activation_function", hub_name(c.activation))
      .real("layer_norm_epsilon", c.norm.eps)
      .boolean("scale_attn_weights", !c.attention_scale)
      .real("resid_pdrop", c.dropout)
      .real("embd_pdrop", c.dropout)
      .real("attn_pdrop", c.attention_dropout)
      .real("initializer_range", c.initial_range)
      .boolean("tie_word_embeddings", c.tied)
      .token("bos_token_id", c.bos)
      .tokens("eos_token_id", c.ends)
      .token("pad_token_id", c.pad)
      .text("torch_dtype", "float32")
      .finish();
}

}  // namespace

extern const Family kGpt2;
const Family kGpt2{"gpt2", kNames, read, write, "transformer."};

}  // namespace headlight::models
