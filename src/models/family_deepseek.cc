// DeepSeek V2 and V3: latent attention, and experts after the first layers.
#include <fmt/format.h>

#include <cmath>

#include "models/family_experts.h"
#include "models/family_llama.h"

namespace headlight::models {
namespace {

constexpr NameRow kRows[] = {
    {"attention.query_down", "self_attn.q_a_proj"},
    {"attention.query_down_norm", "self_attn.q_a_layernorm"},
    {"attention.query_up", "self_attn.q_b_proj"},
    {"attention.down", "self_attn.kv_a_proj_with_mqa"},
    {"attention.latent_norm", "self_attn.kv_a_layernorm"},
    {"attention.up", "self_attn.kv_b_proj"},
    {"router", "mlp.gate"},
    {"router.correction", "mlp.gate.e_score_correction_bias"},
    {"experts.gate", "mlp.experts.{e}.gate_proj"},
    {"experts.gated_up", "mlp.experts.{e}.up_proj"},
    {"experts.down", "mlp.experts.{e}.down_proj"},
    {"shared.gate", "mlp.shared_experts.gate_proj"},
    {"shared.gated_up", "mlp.shared_experts.up_proj"},
    {"shared.down", "mlp.shared_experts.down_proj"},
};

void read_latent(const Hyperparameters& h, nn::MultiHeadAttentionConfig& a) {
  nn::LatentConfig latent;
  latent.rank = h.count(Key::latent_rank);
  latent.query_rank = h.count_or(Key::latent_query_rank, 0);
  latent.turned_dim = h.count(Key::turned_dim);
  latent.value_dim = h.count(Key::latent_value_dim);
  const Index still = h.count(Key::still_dim);
  if (still < 1 || still >= (Index{1} << 31)) h.refuse(Key::still_dim, "need 1 or more");
  a.latent = latent;
  a.kv_heads = 0;
  a.head_dim = still + latent.turned_dim;
  a.rope = h.rope({.head_dim = latent.turned_dim});
  a.rope->interleaved = h.flag_or(Key::pairs_interleaved, true);
  // Stretched rotations make scores larger.
  const nn::RopeScaling& s = a.rope->scaling;
  double m = 1;
  if (s.score_mscale > 0 && s.factor > 1) m = 0.1 * s.score_mscale * std::log(s.factor) + 1;
  a.scale = m * m / std::sqrt(static_cast<double>(a.head_dim));
}

// Layers from first_k_dense_replace on have experts.
TransformerConfig with_experts(const Hyperparameters& h, const Draft& d, nn::ExpertsConfig experts) {
  TransformerConfig c = decoder_of(d);
  experts.scale = h.real_or(Key::expert_scale, 1);
  const Index inner = h.count(Key::expert_inner), shared = h.count_or(Key::shared_experts, 0);
  if (shared < 0 || shared > 4096) h.refuse(Key::shared_experts, "need 0 to 4096");
  if (inner < 1 || inner > (Index{1} << 31)) h.refuse(Key::expert_inner, "need 1 or more");
  experts.shared_inner = shared * inner;
  if (h.count_or(Key::expert_every, 1) != 1) h.refuse(Key::expert_every, "known is 1");
  for (Index n = std::max<Index>(0, h.count_or(Key::dense_first, 0)); n < d.layers; ++n) {
    c.decoder[static_cast<std::size_t>(n)].experts = experts;
    c.decoder[static_cast<std::size_t>(n)].feed_forward.inner = inner;
  }
  return c;
}

Draft deepseek_draft(const Hyperparameters& h) {
  Usual usual = llama_usual(h);
  usual.experts = true;
  Draft d = draft(h, usual);
  read_latent(h, d.block.attention);
  return d;
}

std::string text_or(const Hyperparameters& h, Key key, const char* otherwise) {
  return h.has(key) ? h.text(key) : otherwise;
}

TransformerConfig read_v2(const Hyperparameters& h) {
  const Draft d = deepseek_draft(h);
  nn::ExpertsConfig experts = read_experts(h);
  const std::string choice = text_or(h, Key::expert_choice, "greedy");
  if (choice == "group_limited_greedy") {
    experts.groups = h.count(Key::expert_groups);
    experts.groups_used = h.count(Key::expert_groups_used);
  } else if (choice != "greedy") {
    h.refuse(Key::expert_choice, "supported are greedy and group_limited_greedy");
  }
  if (text_or(h, Key::expert_score, "softmax") != "softmax")
    h.refuse(Key::expert_score, "supported is softmax");
  h.expect(Key::expert_renormalised, false, "router weights that sum to 1 are not supported for this family");
  return with_experts(h, d, experts);
}

TransformerConfig read_v3(const Hyperparameters& h) {
  const Draft d = deepseek_draft(h);
  nn::ExpertsConfig experts = read_experts(h);
  experts.score = nn::ExpertsConfig::Score::sigmoid;
  experts.correction = true;
  experts.groups = h.count_or(Key::expert_groups, 8);
  experts.groups_used = h.count_or(Key::expert_groups_used, 4);
  experts.renormalised = h.flag_or(Key::expert_renormalised, true);
  if (text_or(h, Key::expert_choice, "noaux_tc") != "noaux_tc")
    h.refuse(Key::expert_choice, "supported is noaux_tc");
  if (text_or(h, Key::expert_score, "sigmoid") != "sigmoid")
    h.refuse(Key::expert_score, "supported is sigmoid");
  return with_experts(h, d, experts);
}

}  // namespace

extern const Family kDeepseekV2, kDeepseekV3;
const Family kDeepseekV2{"deepseek_v2", "", read_v2, like_llama(kRows)};
const Family kDeepseekV3{"deepseek_v3", "", read_v3, like_llama(kRows)};

}  // namespace headlight::models
