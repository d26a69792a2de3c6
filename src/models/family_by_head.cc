// GPT-NeoX (Pythia), BLOOM and Falcon: one matrix that holds query, key and value of each head together. GGUF files
// have all queries first.
#include "models/draft.h"
#include "models/family_gguf.h"

namespace headlight::models {
namespace {

constexpr NameRow kNeoxRows[] = {
    {"embedding", "embed_in"},
    {"attention.qkv", "attention.query_key_value"},
    {"attention.out", "attention.dense"},
    {"final_norm", "final_layer_norm"},
    {"head.projection", "embed_out"},
};
constexpr NameRow kBloomRows[] = {
    {"embedding", "word_embeddings"},
    {"embedding_norm", "word_embeddings_layernorm"},
    {"attention_norm", "input_layernorm"},
    {"attention.qkv", "self_attention.query_key_value"},
    {"attention.out", "self_attention.dense"},
    {"feed_forward_norm", "post_attention_layernorm"},
    {"feed_forward.up", "mlp.dense_h_to_4h"},
    {"feed_forward.down", "mlp.dense_4h_to_h"},
    {"final_norm", "ln_f"},
    {"head.projection", "lm_head"},
};
// Falcon 40B and 180B. In GGUF files the second norm is the attention's.
constexpr NameRow kTwoNormsRows[] = {{"attention_norm", "ln_attn"}, {"feed_forward_norm", "ln_mlp"}};
constexpr NameRow kGgufTwoNormsRows[] = {{"attention_norm", "attn_norm_2"},
                                         {"feed_forward_norm", "attn_norm"}};

nn::Projections by_head(const Hyperparameters& h) {
  return h.gguf() ? nn::Projections::packed : nn::Projections::by_head;
}

TransformerConfig read_neox(const Hyperparameters& h) {
  Draft d = draft(h, {.norm = layer_norm(h), .activation = nn::Activation::gelu, .tied = false});
  d.block.shape = h.flag_or(Key::parallel, true) ? nn::BlockShape::parallel : nn::BlockShape::serial;
  d.block.attention.projections = by_head(h);
  d.block.attention.rope = h.rope({.head_dim = d.head_dim(), .share = h.gguf() ? 1 : 0.25});
  return decoder_of(d);
}

TransformerConfig read_bloom(const Hyperparameters& h) {
  Draft d =
      draft(h, {.norm = layer_norm(h), .needs_activation = false, .needs_inner = h.gguf(), .context = 0});
  d.c.embedding.norm = d.block.norm;
  d.block.attention.projections = by_head(h);
  d.block.attention.alibi = true;
  h.expect(Key::stream_of_norms, false, "residual connections after the norm are not supported");
  return decoder_of(d);
}

// Groups of heads that share keys and values, and mostly a norm each for attention and feed-forward.
void read_groups(const Hyperparameters& h, Draft& d) {
  h.expect(Key::parallel, true,
           "groups of heads are supported only with parallel attention and feed-forward");
  d.block.attention.kv_heads = h.count_or(Key::kv_heads, d.block.attention.heads);
  const Index norms = h.count_or(Key::parallel_norms, 2);
  if (norms != 1 && norms != 2)
    h.refuse(Key::parallel_norms, "supported are one norm for attention and feed-forward, and two");
  if (norms == 2) d.block.shape = nn::BlockShape::parallel;
}

TransformerConfig read_falcon(const Hyperparameters& h) {
  const bool bias = h.flag_or(Key::all_bias, false);
  Draft d = draft(h, {.norm = layer_norm(h),
                      .activation = nn::Activation::gelu,
                      .qkv_bias = bias,
                      .out_bias = bias,
                      .feed_forward_bias = bias,
                      .needs_activation = false,
                      .needs_inner = h.gguf(),
                      .context = 2048});
  nn::MultiHeadAttentionConfig& a = d.block.attention;
  a.rope = h.rope({.head_dim = d.head_dim()});
  a.projections = nn::Projections::packed;
  d.block.shape = h.flag_or(Key::parallel, true) ? nn::BlockShape::parallel_one_norm : nn::BlockShape::serial;
  if (h.gguf()) {
    if (h.flag(Key::parallel_norms)) d.block.shape = nn::BlockShape::parallel;
    return decoder_of(d);
  }
  if (h.flag_or(Key::alibi, false)) {
    a.rope.reset();
    d.c.key_slopes = true;
  }
  a.kv_heads = h.flag_or(Key::multi_query, true) ? 1 : a.heads;
  if (h.flag_or(Key::groups, false)) read_groups(h, d);
  // By head, a group is one head; with one group, all queries come first; else GroupedRows puts them there.
  if (a.kv_heads == a.heads && a.heads > 1) a.projections = nn::Projections::by_head;
  d.c.rows_in_groups = a.projections == nn::Projections::packed && a.kv_heads > 1;
  return decoder_of(d);
}

constexpr Names kBloomNames{.rows = kBloomRows, .layer = "h.{n}.", .prefix = "transformer."};
constexpr Names kTwoNormsNames{
    .rows = kTwoNormsRows, .more = kBloomRows, .layer = "h.{n}.", .prefix = "transformer."};
constexpr Names kNeoxNames{
    .rows = kNeoxRows, .more = kBloomRows, .layer = "layers.{n}.", .prefix = "gpt_neox."};

}  // namespace

extern const Family kGptNeox, kBloom, kFalcon;
const Family kGptNeox{"gpt_neox", "gptneox", read_neox, kNeoxNames, gguf_names()};
const Family kBloom{"bloom", "bloom", read_bloom, kBloomNames, gguf_names()};
const Family kFalcon{"falcon",     "falcon", read_falcon,    kBloomNames,
                     gguf_names(), nullptr,  kTwoNormsNames, gguf_names(kGgufTwoNormsRows)};

}  // namespace headlight::models
