// GGUF's own names, nearly the same for all architectures.
#pragma once

#include "models/names.h"

namespace headlight::models {

inline constexpr NameRow kGgufRows[] = {
    {"embedding", "token_embd"},
    {"positions", "position_embd"},
    {"types", "token_types"},
    {"embedding_norm", "token_embd_norm"},
    {"attention_norm", "attn_norm"},
    {"attention.qkv", "attn_qkv"},
    {"attention.query", "attn_q"},
    {"attention.key", "attn_k"},
    {"attention.value", "attn_v"},
    {"attention.query_norm", "attn_q_norm"},
    {"attention.key_norm", "attn_k_norm"},
    {"attention.out", "attn_output"},
    {"attention_post_norm", "post_attention_norm"},
    {"feed_forward_norm", "ffn_norm"},
    {"feed_forward.gate", "ffn_gate"},
    {"feed_forward.gated_up", "ffn_up"},
    {"feed_forward.gate_up", "ffn_up"},
    {"feed_forward.up", "ffn_up"},
    {"feed_forward.down", "ffn_down"},
    {"feed_forward_post_norm", "post_ffw_norm"},
    {"router", "ffn_gate_inp"},
    {"router.correction", "exp_probs_b.bias"},
    {"experts.gate", "ffn_gate_exps"},
    {"experts.gated_up", "ffn_up_exps"},
    {"experts.down", "ffn_down_exps"},
    {"shared.gate", "ffn_gate_shexp"},
    {"shared.gated_up", "ffn_up_shexp"},
    {"shared.down", "ffn_down_shexp"},
    {"final_norm", "output_norm"},
    {"head.projection", "output"},
    {"head.bias", "output.bias"},
};

// `rows` before those above.
[[nodiscard]] constexpr Names gguf_names(std::span<const NameRow> rows = {}) {
  return {.rows = rows, .more = kGgufRows, .layer = "blk.{n}."};
}

}  // namespace headlight::models
