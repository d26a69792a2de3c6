// GPT-NeoX (Pythia), BLOOM and Falcon: one matrix that holds query, key and value of each head together.
#include "models/family_tools.h"

namespace headlight::models {
namespace {

constexpr NameRow kNeoxNames[] = {
    {"embedding", "gpt_neox.embed_in"},
    {"decoder.{n}.attention_norm", "gpt_neox.layers.{n}.input_layernorm"},
    {"decoder.{n}.attention.qkv", "gpt_neox.layers.{n}.attention.query_key_value"},
    {"decoder.{n}.attention.out", "gpt_neox.layers.{n}.attention.dense"},
    {"decoder.{n}.feed_forward_norm", "gpt_neox.layers.{n}.post_attention_layernorm"},
    {"decoder.{n}.feed_forward.up", "gpt_neox.layers.{n}.mlp.dense_h_to_4h"},
    {"decoder.{n}.feed_forward.down", "gpt_neox.layers.{n}.mlp.dense_4h_to_h"},
    {"decoder.final_norm", "gpt_neox.final_layer_norm"},
    {"head.projection", "embed_out"},
};

// BLOOM and Falcon
constexpr NameRow kBloomNames[] = {
    {"embedding", "transformer.word_embeddings"},
    {"decoder.embedding_norm", "transformer.word_embeddings_layernorm"},
    {"decoder.{n}.attention_norm", "transformer.h.{n}.input_layernorm"},
    {"decoder.{n}.attention.qkv", "transformer.h.{n}.self_attention.query_key_value"},
    {"decoder.{n}.attention.out", "transformer.h.{n}.self_attention.dense"},
    {"decoder.{n}.feed_forward_norm", "transformer.h.{n}.post_attention_layernorm"},
    {"decoder.{n}.feed_forward.up", "transformer.h.{n}.mlp.dense_h_to_4h"},
    {"decoder.{n}.feed_forward.down", "transformer.h.{n}.mlp.dense_4h_to_h"},
    {"decoder.final_norm", "transformer.ln_f"},
    {"head.projection", "lm_head"},
};

// Falcon 40B and 180B
constexpr NameRow kTwoNormsNames[] = {
    {"embedding", "transformer.word_embeddings"},
    {"decoder.{n}.attention_norm", "transformer.h.{n}.ln_attn"},
    {"decoder.{n}.attention.qkv", "transformer.h.{n}.self_attention.query_key_value"},
    {"decoder.{n}.attention.out", "transformer.h.{n}.self_attention.dense"},
    {"decoder.{n}.feed_forward_norm", "transformer.h.{n}.ln_mlp"},
    {"decoder.{n}.feed_forward.up", "transformer.h.{n}.mlp.dense_h_to_4h"},
    {"decoder.{n}.feed_forward.down", "transformer.h.{n}.mlp.dense_4h_to_h"},
    {"decoder.final_norm", "transformer.ln_f"},
    {"head.projection", "lm_head"},
};

void read_tokens(TransformerConfig& c, const io::Json& json) {
  c.bos = token_of(json, "bos_token_id");
  c.ends = tokens_of(json, "eos_token_id");
  c.pad = token_of(json, "pad_token_id");
}

TransformerConfig read_neox(const io::Json& json) {
  TransformerConfig c;
  c.vocabulary = json.integer("vocab_size");
  c.width = json.integer("hidden_size");
  c.layers = layers_of(json, "num_hidden_layers");
  c.heads = json.integer("num_attention_heads");
  c.inner = json.integer("intermediate_size");
  c.max_positions = json.integer("max_position_embeddings");
  c.norm.eps = json.real_or("layer_norm_eps", 1e-5);
  c.block_shape =
      json.boolean_or("use_parallel_residual", true) ? nn::BlockShape::parallel : nn::BlockShape::serial;
  c.activation = activation_of(json, "hidden_act");
  c.projections = nn::Projections::by_head;
  c.qkv_bias = c.out_bias = json.boolean_or("attention_bias", true);
  c.positions = PositionKind::rope;
  c.rope = rope_of(json, c.width / std::max<Index>(1, c.heads), 0.25);
  c.tied = json.boolean_or("tie_word_embeddings", false);
  c.dropout = json.real_or("hidden_dropout", 0);
  c.attention_dropout = json.real_or("attention_dropout", 0);
  read_tokens(c, json);
  return c;
}

TransformerConfig read_bloom(const io::Json& json) {
  TransformerConfig c;
  c.vocabulary = json.integer("vocab_size");
  c.width = json.find("hidden_size") != nullptr ? json.integer("hidden_size") : json.integer("n_embed");
  c.layers = layers_of(json, json.find("n_layer") != nullptr ? "n_layer" : "num_hidden_layers");
  c.heads = json.find("n_head") != nullptr ? json.integer("n_head") : json.integer("num_attention_heads");
  c.norm.eps = json.real_or("layer_norm_epsilon", 1e-5);
  c.embedding_norm = true;
  c.projections = nn::Projections::by_head;
  c.positions = PositionKind::alibi;
  refuse_unless(!json.boolean_or("apply_residual_connection_post_layernorm", false), json,
                "apply_residual_connection_post_layernorm", "a stream of normed values is not supported");
  c.tied = json.boolean_or("tie_word_embeddings", true);
  c.dropout = json.real_or("hidden_dropout", 0);
  c.attention_dropout = json.real_or("attention_dropout", 0);
  read_tokens(c, json);
  return c;
}

// Groups of heads that share keys and values, and mostly a norm each for attention and feed-forward.
void read_groups(const io::Json& json, TransformerConfig& c) {
  refuse_unless(json.boolean_or("parallel_attn", true), json, "parallel_attn",
                "groups of heads are known only in blocks whose halves run side by side");
  c.kv_heads = json.integer_or("num_kv_heads", c.heads);
  const Index norms = json.integer_or("num_ln_in_parallel_attn", 2);
  refuse_unless(norms == 1 || norms == 2, json, "num_ln_in_parallel_attn",
                "known are one norm for both halves of a block, and two");
  if (norms == 1) return;
  c.block_shape = nn::BlockShape::parallel;
  c.family = "falcon-two-norms";
}

TransformerConfig read_falcon(const io::Json& json) {
  TransformerConfig c;
  c.vocabulary = json.integer("vocab_size");
  c.width = json.integer("hidden_size");
  c.layers = layers_of(json, "num_hidden_layers");
  c.heads = json.integer("num_attention_heads");
  refuse_unless(!json.boolean_or("alibi", false), json, "alibi",
                "slopes that are scaled like scores are not supported");
  const bool shared = json.boolean_or("multi_query", true);
  c.kv_heads = shared ? 1 : c.heads;
  c.inner = json.integer_or("ffn_hidden_size", 0);
  c.max_positions = json.integer_or("max_position_embeddings", 2048);
  c.norm.eps = json.real_or("layer_norm_epsilon", 1e-5);
  c.block_shape =
      json.boolean_or("parallel_attn", true) ? nn::BlockShape::parallel_one_norm : nn::BlockShape::serial;
  if (json.boolean_or("new_decoder_architecture", false)) read_groups(json, c);
  // By head, a group is one head; with one group, all queries come first; else GroupedRows puts them there.
  c.projections = c.kv_heads == c.heads && c.heads > 1 ? nn::Projections::by_head : nn::Projections::packed;
  c.activation =
      json.find("activation") != nullptr ? activation_of(json, "activation") : nn::Activation::gelu;
  c.qkv_bias = c.out_bias = c.feed_forward_bias = json.boolean_or("bias", false);
  c.positions = PositionKind::rope;
  c.rope = rope_of(json, c.width / std::max<Index>(1, c.heads));
  c.tied = json.boolean_or("tie_word_embeddings", true);
  c.dropout = json.real_or("hidden_dropout", 0);
  c.attention_dropout = json.real_or("attention_dropout", 0);
  read_tokens(c, json);
  return c;
}

}  // namespace

extern const Family kGptNeox, kBloom, kFalcon, kFalconTwoNorms;
const Family kGptNeox{"gpt_neox", kNeoxNames, read_neox, nullptr, "gpt_neox."};
const Family kBloom{"bloom", kBloomNames, read_bloom, nullptr, "transformer."};
const Family kFalcon{"falcon", kBloomNames, read_falcon, nullptr, "transformer."};
const Family kFalconTwoNorms{"falcon-two-norms", kTwoNormsNames, nullptr, nullptr, "transformer."};

}  // namespace headlight::models
