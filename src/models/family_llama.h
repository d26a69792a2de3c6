// Shared by families derived from Llama.
#pragma once

#include "models/draft.h"

namespace headlight::models {

inline constexpr NameRow kLlamaRows[] = {
    {"embedding", "embed_tokens"},
    {"attention_norm", "input_layernorm"},
    {"attention.query", "self_attn.q_proj"},
    {"attention.key", "self_attn.k_proj"},
    {"attention.value", "self_attn.v_proj"},
    {"attention.query_norm", "self_attn.q_norm"},
    {"attention.key_norm", "self_attn.k_norm"},
    {"attention.out", "self_attn.o_proj"},
    {"feed_forward_norm", "post_attention_layernorm"},
    {"feed_forward.gate", "mlp.gate_proj"},
    {"feed_forward.gated_up", "mlp.up_proj"},
    {"feed_forward.down", "mlp.down_proj"},
    {"final_norm", "norm"},
    {"head.projection", "lm_head"},
};
// `rows` before those above.
[[nodiscard]] constexpr Names like_llama(std::span<const NameRow> rows = {}) {
  return {.rows = rows, .more = kLlamaRows, .layer = "layers.{n}.", .prefix = "model."};
}

// Root mean square norms before, rotary positions, gated feed-forward without biases.
[[nodiscard]] Usual llama_usual(const Hyperparameters& h);
[[nodiscard]] Usual llama_usual(const nn::NormConfig& norm);  // with norms of another kind
[[nodiscard]] Draft llama_draft(const Hyperparameters& h, const Usual& usual, const WindowRule& windows = {});

// config.json of llama, qwen2, qwen3, olmo2 and granite.
[[nodiscard]] std::string write_llama_kin(const TransformerConfig& config);

}  // namespace headlight::models
