// OPT: GPT-2 with separate projections; its position tables have two unused rows.
#include "models/draft.h"

namespace headlight::models {
namespace {

constexpr NameRow kRows[] = {
    {"embedding", "decoder.embed_tokens"},
    {"positions", "embed_positions"},
    {"widening", "project_in"},
    {"head.narrowing", "model.decoder.project_out"},
    {"attention_norm", "self_attn_layer_norm"},
    {"attention.query", "self_attn.q_proj"},
    {"attention.key", "self_attn.k_proj"},
    {"attention.value", "self_attn.v_proj"},
    {"attention.out", "self_attn.out_proj"},
    {"feed_forward_norm", "final_layer_norm"},
    {"feed_forward.up", "fc1"},
    {"feed_forward.down", "fc2"},
    {"final_norm", "final_layer_norm"},
    {"head.projection", "lm_head"},
};

TransformerConfig read(const Hyperparameters& h) {
  const bool bias = h.flag_or(Key::all_bias, true);
  Draft d = draft(h, {.qkv_bias = bias, .out_bias = bias, .feed_forward_bias = bias});
  TransformerConfig& c = d.c;
  c.embedding.positions = AddedPositions::learned;
  c.embedding.position_offset = 2;
  const bool before = h.flag_or(Key::norm_before, true);
  d.block.norm_place = before ? nn::NormPlace::before : nn::NormPlace::after;
  if (!before || h.flag_or(Key::no_final_norm, false)) c.final_norm.reset();
  // OPT-350m: projections without bias before the first and after the last layer.
  c.embedding.width = h.count_or(Key::embedding_width, c.width);
  c.head.narrowed = c.embedding.width != c.width;
  h.expect(Key::norm_weights, true, "norms without parameters are not supported");
  return decoder_of(d);
}

}  // namespace

extern const Family kOpt;
const Family kOpt{
    "opt", "", read, {.rows = kRows, .layer = "layers.{n}.", .decoder = "decoder.", .prefix = "model."}};

}  // namespace headlight::models
