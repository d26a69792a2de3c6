// Phi: attention and feed-forward in parallel after one norm, biases everywhere. Phi 3: Llama with packed matrices.
#include "models/family_gguf.h"
#include "models/family_llama.h"

namespace headlight::models {
namespace {

constexpr NameRow kPhiRows[] = {
    {"attention.query_norm", "self_attn.q_layernorm"},
    {"attention.key_norm", "self_attn.k_layernorm"},
    {"attention.out", "self_attn.dense"},
    {"feed_forward.up", "mlp.fc1"},
    {"feed_forward.down", "mlp.fc2"},
    {"final_norm", "final_layernorm"},
    {"head.bias", "lm_head.bias"},
};
constexpr NameRow kPhi3Rows[] = {
    {"attention.qkv", "self_attn.qkv_proj"},
    {"feed_forward.gate_up", "mlp.gate_up_proj"},
};

TransformerConfig read_phi(const Hyperparameters& h) {
  Draft d = draft(h, {.norm = layer_norm(h), .tied = false});
  d.block.shape = nn::BlockShape::parallel_one_norm;
  d.block.attention.rope = h.rope({.head_dim = d.head_dim(), .share = 0.5});
  if (h.flag_or(Key::head_layer_norm, false)) d.block.attention.head_norm = d.block.norm;
  if (!h.gguf()) d.c.head.bias = true;
  return decoder_of(d);
}

TransformerConfig read_phi3(const Hyperparameters& h) {
  Draft d = llama_draft(h, llama_usual(h), {.every = 0});
  d.block.attention.projections = nn::Projections::packed;
  d.block.feed_forward.gate_packed = true;
  return decoder_of(d);
}

}  // namespace

extern const Family kPhi, kPhi3;
const Family kPhi{"phi", "phi2", read_phi, like_llama(kPhiRows), gguf_names()};
const Family kPhi3{"phi3", "phi3", read_phi3, like_llama(kPhi3Rows), gguf_names()};

}  // namespace headlight::models
