// MPT: ALiBi slopes instead of positions, no biases, one matrix for queries, keys and values.
#include <fmt/format.h>

#include "models/draft.h"
#include "models/family_gguf.h"

namespace headlight::models {
namespace {

constexpr NameRow kRows[] = {
    {"embedding", "wte"},
    {"attention_norm", "norm_1"},
    {"attention.qkv", "attn.Wqkv"},
    {"attention.out", "attn.out_proj"},
    {"feed_forward_norm", "norm_2"},
    {"feed_forward.up", "ffn.up_proj"},
    {"feed_forward.down", "ffn.down_proj"},
    {"final_norm", "norm_f"},
    {"head.projection", "lm_head"},
};

// Entries of attn_config that change results, and the values they must have.
struct Wanted {
  std::string_view field;
  std::string_view values[3];
};
constexpr Wanted kSettings[] = {
    {"alibi", {"true"}},
    {"alibi_bias_max", {"8"}},
    {"attn_type", {"\"multihead_attention\""}},
    {"attn_uses_sequence_id", {"false"}},
    {"clip_qkv", {"null", "0"}},
    {"prefix_lm", {"false"}},
    {"qk_ln", {"false"}},
    {"softmax_scale", {"null"}},
};

void check_settings(const Hyperparameters& h) {
  for (const auto& [field, values] : kSettings) {
    const std::string found = h.entry(Key::attention_settings, field);
    const bool required = field == "alibi";  // usually off
    bool good = found.empty() && !required;
    for (const std::string_view value : values) good = good || (!value.empty() && found == value);
    if (!good)
      h.refuse(Key::attention_settings,
               fmt::format("{} is {}; supported is {}", field, found.empty() ? "absent" : found, values[0]));
  }
}

TransformerConfig read(const Hyperparameters& h) {
  Draft d = draft(h, {.norm = {.eps = h.gguf() ? h.epsilon(Key::layer_epsilon, 1e-5)
                                               : h.real_or(Key::layer_epsilon, 1e-5),
                               .bias = false},
                      .activation = nn::Activation::gelu,
                      .qkv_bias = false,
                      .out_bias = false,
                      .feed_forward_bias = false,
                      .needs_activation = false,
                      .needs_inner = h.gguf()});
  if (!h.gguf()) {
    check_settings(h);
    if (h.count_or(Key::expansion, 4) != 4) h.refuse(Key::expansion, "known is 4");
    if (h.has(Key::logits_factor)) h.refuse(Key::logits_factor, "scaled logits are not supported");
  }
  nn::MultiHeadAttentionConfig& a = d.block.attention;
  a.projections = nn::Projections::packed;
  a.alibi = true;
  // Slopes for other numbers of heads are in another order than those of BLOOM.
  if (a.heads < 1 || (a.heads & (a.heads - 1)) != 0) h.refuse(Key::heads, "supported are powers of two");
  return decoder_of(d);
}

}  // namespace

extern const Family kMpt;
const Family kMpt{
    "mpt", "mpt", read, {.rows = kRows, .layer = "blocks.{n}.", .prefix = "transformer."}, gguf_names()};

}  // namespace headlight::models
