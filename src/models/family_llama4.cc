// Llama 4, the text model: most layers rotate neighbouring pairs, normalise the rotated queries and keys, and see only their
// chunk; the others see all keys, do not rotate, and scale queries by position. Every n-th layer has experts,
// one chosen for each token and one for all; the router's weight multiplies the input of the expert.
#include <fmt/format.h>

#include <algorithm>

#include "models/family_experts.h"
#include "models/family_llama.h"

namespace headlight::models {
namespace {

constexpr NameRow kRows[] = {
    {"feed_forward.gate", "feed_forward.gate_proj"},
    {"feed_forward.gated_up", "feed_forward.up_proj"},
    {"feed_forward.down", "feed_forward.down_proj"},
    {"router", "feed_forward.router"},
    {"experts.gate_up.weight", "feed_forward.experts.gate_up_proj"},
    {"experts.down.weight", "feed_forward.experts.down_proj"},
    {"shared.gate", "feed_forward.shared_expert.gate_proj"},
    {"shared.gated_up", "feed_forward.shared_expert.up_proj"},
    {"shared.down", "feed_forward.shared_expert.down_proj"},
};

std::vector<Index> layers_with_experts(const Hyperparameters& h, Index layers) {
  std::vector<Index> list = h.counts(Key::expert_layers);
  const Index step = h.count_or(Key::expert_every, 1);
  for (const Index n : list)
    if (n < 0 || n >= layers) h.refuse(Key::expert_layers, fmt::format("there is no layer {}", n));
  if (h.has(Key::expert_layers)) return list;
  if (step < 1) h.refuse(Key::expert_every, "need 1 or more");
  for (Index n = step - 1; n < layers; n += step) list.push_back(n);
  return list;
}

void check_kinds(const Hyperparameters& h, const TransformerConfig& c) {
  const std::vector<std::string> kinds = h.kinds();
  for (std::size_t n = 0; n < std::min(kinds.size(), c.decoder.size()); ++n) {
    const bool chunked = c.decoder[n].attention.visible.chunk > 0;
    if (kinds[n] != (chunked ? "chunked_attention" : "full_attention"))
      h.refuse(
          Key::rotating_layers,
          fmt::format("layer {} is \"{}\"; layers with rotary positions need chunks, others full attention",
                      n, kinds[n]));
  }
}

TransformerConfig read(const Hyperparameters& h) {
  Usual usual = llama_usual(h);
  usual.experts = true;
  Draft d = draft(h, usual);
  d.block.attention.rope = h.rope({.head_dim = d.head_dim(), .theta = 500000});
  d.block.attention.rope->interleaved = true;
  TransformerConfig c = decoder_of(d);
  skip_rotations(h, c, 4);
  const Index chunk = h.count_or(Key::chunk, 8192);
  if (chunk < 1) h.refuse(Key::chunk, "need 1 or more");
  const bool norms = h.flag_or(Key::unit_heads, true), grows = h.flag_or(Key::query_growth, true);
  const nn::QueryGrowth growth{h.real_or(Key::query_growth_every, 8192),
                               h.real_or(Key::query_growth_scale, 0.1)};
  for (nn::BlockConfig& block : c.decoder) {
    nn::MultiHeadAttentionConfig& a = block.attention;
    if (!a.rope) {
      if (grows) a.query_growth = growth;
      continue;
    }
    a.visible = Visibility::chunks(chunk);
    if (!norms) continue;
    a.head_norm = d.block.norm;
    a.head_norm->weighted = false;
    a.head_norm_place = nn::HeadNormPlace::turned;
  }
  check_kinds(h, c);
  nn::ExpertsConfig experts = read_experts(h);
  experts.score = nn::ExpertsConfig::Score::sigmoid;
  experts.weighs_input = true;
  experts.shared_inner = d.block.feed_forward.inner;
  for (nn::BlockConfig& block : c.decoder) block.feed_forward.inner = h.count(Key::dense_inner);
  for (const Index n : layers_with_experts(h, d.layers)) {
    nn::BlockConfig& block = c.decoder[static_cast<std::size_t>(n)];
    block.experts = experts;
    block.feed_forward.inner = d.block.feed_forward.inner;
    block.feed_forward.gate_packed = true;
    block.feed_forward.layout = nn::WeightLayout::in_out;
  }
  return c;
}

}  // namespace

extern const Family kLlama4;
const Family kLlama4{"llama4_text", "", read, like_llama(kRows)};

}  // namespace headlight::models
