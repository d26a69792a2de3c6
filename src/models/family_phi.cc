// Phi: attention and feed-forward side by side behind one norm, biases everywhere. Phi 3: Llama with
// packed matrices.
#include "models/family_llama.h"
#include "models/family_tools.h"

namespace headlight::models {
namespace {

constexpr NameRow kPhiNames[] = {
    {"embedding", "model.embed_tokens"},
    {"decoder.{n}.attention_norm", "model.layers.{n}.input_layernorm"},
    {"decoder.{n}.attention.query", "model.layers.{n}.self_attn.q_proj"},
    {"decoder.{n}.attention.key", "model.layers.{n}.self_attn.k_proj"},
    {"decoder.{n}.attention.value", "model.layers.{n}.self_attn.v_proj"},
    {"decoder.{n}.attention.out", "model.layers.{n}.self_attn.dense"},
    {"decoder.{n}.feed_forward.up", "model.layers.{n}.mlp.fc1"},
    {"decoder.{n}.feed_forward.down", "model.layers.{n}.mlp.fc2"},
    {"decoder.final_norm", "model.final_layernorm"},
    {"head.projection", "lm_head"},
    {"head.bias", "lm_head.bias"},
};

constexpr NameRow kPhi3Names[] = {
    {"embedding", "model.embed_tokens"},
    {"decoder.{n}.attention_norm", "model.layers.{n}.input_layernorm"},
    {"decoder.{n}.attention.qkv", "model.layers.{n}.self_attn.qkv_proj"},
    {"decoder.{n}.attention.out", "model.layers.{n}.self_attn.o_proj"},
    {"decoder.{n}.feed_forward_norm", "model.layers.{n}.post_attention_layernorm"},
    {"decoder.{n}.feed_forward.gate_up", "model.layers.{n}.mlp.gate_up_proj"},
    {"decoder.{n}.feed_forward.down", "model.layers.{n}.mlp.down_proj"},
    {"decoder.final_norm", "model.norm"},
    {"head.projection", "lm_head"},
};

TransformerConfig read_phi(const io::Json& json) {
  TransformerConfig c;
  c.vocabulary = json.integer("vocab_size");
  c.width = json.integer("hidden_size");
  c.layers = layers_of(json, "num_hidden_layers");
  c.heads = json.integer("num_attention_heads");
  c.kv_heads = json.integer_or("num_key_value_heads", 0);
  c.inner = json.integer("intermediate_size");
  c.max_positions = json.integer("max_position_embeddings");
  c.norm.eps = json.real_or("layer_norm_eps", 1e-5);
  c.block_shape = nn::BlockShape::parallel_one_norm;
  c.activation = activation_of(json, "hidden_act");
  c.positions = PositionKind::rope;
  c.rope = rope_of(json, c.width / std::max<Index>(1, c.heads), 0.5);
  refuse_unless(!json.boolean_or("qk_layernorm", false), json, "qk_layernorm",
                "layer norms of heads are not supported");
  c.tied = json.boolean_or("tie_word_embeddings", false);
  c.head_bias = true;
  c.dropout = json.real_or("resid_pdrop", 0);
  c.attention_dropout = json.real_or("attention_dropout", 0);
  c.bos = token_of(json, "bos_token_id");
  c.ends = tokens_of(json, "eos_token_id");
  c.pad = token_of(json, "pad_token_id");
  return c;
}

TransformerConfig read_phi3(const io::Json& json) {
  TransformerConfig c = read_llama(json);
  c.projections = nn::Projections::packed;
  c.gate_packed = true;
  const Index window = json.integer_or("sliding_window", 0);
  if (window > 0 && c.windows.empty()) c.windows.assign(static_cast<std::size_t>(c.layers), window);
  return c;
}

}  // namespace

extern const Family kPhi, kPhi3;
const Family kPhi{"phi", kPhiNames, read_phi, nullptr, "model."};
const Family kPhi3{"phi3", kPhi3Names, read_phi3, nullptr, "model."};

}  // namespace headlight::models
