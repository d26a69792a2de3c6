// GPT-2: norms before, learned positions, one matrix for queries, keys and values. In folders its linear layers are
// stored [in, out], unlike those of all other families. GPT-Neo: separate projections, and a window in every other layer.
// GPT-J: attention and feed-forward in parallel after one norm, and rotations of neighbouring pairs.
#include <cmath>

#include "models/draft.h"
#include "models/family_gguf.h"

namespace headlight::models {
namespace {

constexpr NameRow kRows[] = {
    {"embedding", "wte"},
    {"positions", "wpe"},
    {"attention_norm", "ln_1"},
    {"attention.qkv", "attn.c_attn"},
    {"attention.out", "attn.c_proj"},
    {"feed_forward_norm", "ln_2"},
    {"feed_forward.up", "mlp.c_fc"},
    {"feed_forward.down", "mlp.c_proj"},
    {"final_norm", "ln_f"},
    {"head.projection", "lm_head"},
};
constexpr NameRow kGptjRows[] = {
    {"attention.query", "attn.q_proj"}, {"attention.key", "attn.k_proj"}, {"attention.value", "attn.v_proj"},
    {"attention.out", "attn.out_proj"}, {"feed_forward.up", "mlp.fc_in"}, {"feed_forward.down", "mlp.fc_out"},
    {"head.bias", "lm_head.bias"},
};
constexpr NameRow kNeoRows[] = {
    {"attention.query", "attn.attention.q_proj"},
    {"attention.key", "attn.attention.k_proj"},
    {"attention.value", "attn.attention.v_proj"},
    {"attention.out", "attn.attention.out_proj"},
};

TransformerConfig read(const Hyperparameters& h) {
  Draft d = draft(h, {.norm = layer_norm(h), .needs_inner = h.gguf()});
  nn::MultiHeadAttentionConfig& a = d.block.attention;
  d.c.embedding.positions = AddedPositions::learned;
  a.projections = nn::Projections::packed;
  a.layout = d.block.feed_forward.layout = h.gguf() ? nn::WeightLayout::out_in : nn::WeightLayout::in_out;
  if (!h.flag_or(Key::scale_scores, true)) a.scale = 1;
  h.expect(Key::cross_attention, false, "a decoder with cross-attention is not supported");
  TransformerConfig c = decoder_of(d);
  if (h.flag_or(Key::scale_by_layer, false)) {
    const double scale = a.scale.value_or(1 / std::sqrt(static_cast<double>(d.head_dim())));
    for (std::size_t n = 0; n < c.decoder.size(); ++n)
      c.decoder[n].attention.scale = scale / static_cast<double>(n + 1);
  }
  return c;
}

TransformerConfig read_gptj(const Hyperparameters& h) {
  Draft d = draft(
      h, {.norm = layer_norm(h), .qkv_bias = false, .out_bias = false, .tied = false, .needs_inner = false});
  d.block.shape = nn::BlockShape::parallel_one_norm;
  d.block.attention.rope = h.rope({.head_dim = d.head_dim(), .dims = h.count_or(Key::rotated_dims, 64)});
  d.block.attention.rope->interleaved = true;
  d.c.head.bias = !d.c.head.tied;
  return decoder_of(d);
}

TransformerConfig read_neo(const Hyperparameters& h) {
  Draft d = draft(h, {.norm = layer_norm(h), .qkv_bias = false, .needs_inner = false});
  d.c.embedding.positions = AddedPositions::learned;
  d.block.attention.scale = 1;  // scores are not scaled
  d.windows = h.windows(d.layers, {});
  return decoder_of(d);
}

std::string write(const TransformerConfig& c) {
  const nn::BlockConfig& b = c.decoder.front();
  return ConfigWriter()
      .architecture("GPT2LMHeadModel")
      .text("model_type", "gpt2")
      .integer("vocab_size", c.vocabulary)
      .integer("n_positions", c.max_positions)
      .integer("n_embd", c.width)
      .integer("n_layer", static_cast<Index>(c.decoder.size()))
      .integer("n_head", b.attention.heads)
      .integer("n_inner", b.feed_forward.inner)
      .text("activation_function", hub_name(b.feed_forward.activation))
      .real("layer_norm_epsilon", b.norm.eps)
      .boolean("scale_attn_weights", !b.attention.scale)
      .real("resid_pdrop", c.dropout)
      .real("embd_pdrop", c.dropout)
      .real("attn_pdrop", b.attention.dropout)
      .real("initializer_range", c.initial_range)
      .boolean("tie_word_embeddings", c.head.tied)
      .token("bos_token_id", c.bos)
      .tokens("eos_token_id", c.ends)
      .token("pad_token_id", c.pad)
      .text("torch_dtype", "float32")
      .finish();
}

constexpr std::string_view kLayer = "h.{n}.", kPrefix = "transformer.";

}  // namespace

extern const Family kGpt2, kGptNeo, kGptj;
const Family kGpt2{"gpt2",       "gpt2", read, {.rows = kRows, .layer = kLayer, .prefix = kPrefix},
                   gguf_names(), write};
const Family kGptNeo{
    "gpt_neo", "", read_neo, {.rows = kNeoRows, .more = kRows, .layer = kLayer, .prefix = kPrefix}};
const Family kGptj{
    "gptj", "", read_gptj, {.rows = kGptjRows, .more = kRows, .layer = kLayer, .prefix = kPrefix}};

}  // namespace headlight::models
