// GGUF's own names, the same for all architectures. Its numbers come from gguf_config.cc, not from config.json.
#include "models/family_tools.h"

namespace headlight::models {
namespace {

constexpr NameRow kNames[] = {
    {"embedding", "token_embd"},
    {"head.projection", "output"},
    {"head.bias", "output.bias"},
    // Decoders: norms before
    {"decoder.positions", "position_embd"},
    {"decoder.embedding_norm", "token_embd_norm"},
    {"decoder.{n}.attention_norm", "blk.{n}.attn_norm"},
    {"decoder.{n}.attention.qkv", "blk.{n}.attn_qkv"},
    {"decoder.{n}.attention.query", "blk.{n}.attn_q"},
    {"decoder.{n}.attention.key", "blk.{n}.attn_k"},
    {"decoder.{n}.attention.value", "blk.{n}.attn_v"},
    {"decoder.{n}.attention.query_norm", "blk.{n}.attn_q_norm"},
    {"decoder.{n}.attention.key_norm", "blk.{n}.attn_k_norm"},
    {"decoder.{n}.attention.out", "blk.{n}.attn_output"},
    {"decoder.{n}.attention_post_norm", "blk.{n}.post_attention_norm"},
    {"decoder.{n}.feed_forward_norm", "blk.{n}.ffn_norm"},
    {"decoder.{n}.feed_forward.gate", "blk.{n}.ffn_gate"},
    {"decoder.{n}.feed_forward.gated_up", "blk.{n}.ffn_up"},
    {"decoder.{n}.feed_forward.gate_up", "blk.{n}.ffn_up"},
    {"decoder.{n}.feed_forward.up", "blk.{n}.ffn_up"},
    {"decoder.{n}.feed_forward.down", "blk.{n}.ffn_down"},
    {"decoder.{n}.feed_forward_post_norm", "blk.{n}.post_ffw_norm"},
    {"decoder.final_norm", "output_norm"},
    // Encoders: norms after
    {"encoder.positions", "position_embd"},
    {"encoder.types", "token_types"},
    {"encoder.embedding_norm", "token_embd_norm"},
    {"encoder.{n}.attention.query", "blk.{n}.attn_q"},
    {"encoder.{n}.attention.key", "blk.{n}.attn_k"},
    {"encoder.{n}.attention.value", "blk.{n}.attn_v"},
    {"encoder.{n}.attention.out", "blk.{n}.attn_output"},
    {"encoder.{n}.attention_norm", "blk.{n}.attn_output_norm"},
    {"encoder.{n}.feed_forward.up", "blk.{n}.ffn_up"},
    {"encoder.{n}.feed_forward.down", "blk.{n}.ffn_down"},
    {"encoder.{n}.feed_forward_norm", "blk.{n}.layer_output_norm"},
};

TransformerConfig read(const io::Json& json) {
  refuse_unless(false, json, "model_type", "\"gguf\" is the name of a file format, not of a model");
  return {};
}

}  // namespace

extern const Family kGguf;
const Family kGguf{"gguf", kNames, read};

}  // namespace headlight::models
