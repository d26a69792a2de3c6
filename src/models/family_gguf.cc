// GGUF's own names, the same for nearly all architectures. Its numbers come from gguf_config.cc, not from config.json.
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

// Falcon with two norms: the second one named is the attention's.
constexpr NameRow kFalconNames[] = {
    {"embedding", "token_embd"},
    {"decoder.{n}.attention_norm", "blk.{n}.attn_norm_2"},
    {"decoder.{n}.attention.qkv", "blk.{n}.attn_qkv"},
    {"decoder.{n}.attention.out", "blk.{n}.attn_output"},
    {"decoder.{n}.feed_forward_norm", "blk.{n}.attn_norm"},
    {"decoder.{n}.feed_forward.up", "blk.{n}.ffn_up"},
    {"decoder.{n}.feed_forward.down", "blk.{n}.ffn_down"},
    {"decoder.final_norm", "output_norm"},
    {"head.projection", "output"},
};

constexpr NameRow kT5Names[] = {
    {"embedding", "token_embd"},
    {"encoder.relative", "enc.blk.0.attn_rel_b"},
    {"encoder.{n}.attention_norm", "enc.blk.{n}.attn_norm"},
    {"encoder.{n}.attention.query", "enc.blk.{n}.attn_q"},
    {"encoder.{n}.attention.key", "enc.blk.{n}.attn_k"},
    {"encoder.{n}.attention.value", "enc.blk.{n}.attn_v"},
    {"encoder.{n}.attention.out", "enc.blk.{n}.attn_o"},
    {"encoder.{n}.feed_forward_norm", "enc.blk.{n}.ffn_norm"},
    {"encoder.{n}.feed_forward.gate", "enc.blk.{n}.ffn_gate"},
    {"encoder.{n}.feed_forward.gated_up", "enc.blk.{n}.ffn_up"},
    {"encoder.{n}.feed_forward.up", "enc.blk.{n}.ffn_up"},
    {"encoder.{n}.feed_forward.down", "enc.blk.{n}.ffn_down"},
    {"encoder.final_norm", "enc.output_norm"},
    {"decoder.relative", "dec.blk.0.attn_rel_b"},
    {"decoder.{n}.attention_norm", "dec.blk.{n}.attn_norm"},
    {"decoder.{n}.attention.query", "dec.blk.{n}.attn_q"},
    {"decoder.{n}.attention.key", "dec.blk.{n}.attn_k"},
    {"decoder.{n}.attention.value", "dec.blk.{n}.attn_v"},
    {"decoder.{n}.attention.out", "dec.blk.{n}.attn_o"},
    {"decoder.{n}.cross_norm", "dec.blk.{n}.cross_attn_norm"},
    {"decoder.{n}.cross.query", "dec.blk.{n}.cross_attn_q"},
    {"decoder.{n}.cross.key", "dec.blk.{n}.cross_attn_k"},
    {"decoder.{n}.cross.value", "dec.blk.{n}.cross_attn_v"},
    {"decoder.{n}.cross.out", "dec.blk.{n}.cross_attn_o"},
    {"decoder.{n}.feed_forward_norm", "dec.blk.{n}.ffn_norm"},
    {"decoder.{n}.feed_forward.gate", "dec.blk.{n}.ffn_gate"},
    {"decoder.{n}.feed_forward.gated_up", "dec.blk.{n}.ffn_up"},
    {"decoder.{n}.feed_forward.up", "dec.blk.{n}.ffn_up"},
    {"decoder.{n}.feed_forward.down", "dec.blk.{n}.ffn_down"},
    {"decoder.final_norm", "dec.output_norm"},
    {"head.projection", "output"},
};

TransformerConfig read(const io::Json& json) {
  refuse_unless(false, json, "model_type", "\"gguf\" is the name of a file format, not of a model");
  return {};
}

}  // namespace

extern const Family kGguf, kGgufT5, kGgufFalcon;
const Family kGgufFalcon{"gguf-falcon", kFalconNames, read};
const Family kGguf{"gguf", kNames, read};
const Family kGgufT5{"gguf-t5", kT5Names, read};

}  // namespace headlight::models
