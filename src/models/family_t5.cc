// T5: an encoder-decoder with root mean square norms before, learned distances, unscaled scores and no
// biases. Its later form (v1.1, Flan) has gated layers.
#include <cmath>

#include "models/draft.h"
#include "models/family_gguf.h"

namespace headlight::models {
namespace {

constexpr NameRow kRows[] = {
    {"embedding", "shared"},
    {"relative", "block.0.layer.0.SelfAttention.relative_attention_bias"},
    {"attention_norm", "layer.0.layer_norm"},
    {"attention.query", "layer.0.SelfAttention.q"},
    {"attention.key", "layer.0.SelfAttention.k"},
    {"attention.value", "layer.0.SelfAttention.v"},
    {"attention.out", "layer.0.SelfAttention.o"},
    {"cross_norm", "layer.1.layer_norm"},
    {"cross.query", "layer.1.EncDecAttention.q"},
    {"cross.key", "layer.1.EncDecAttention.k"},
    {"cross.value", "layer.1.EncDecAttention.v"},
    {"cross.out", "layer.1.EncDecAttention.o"},
    {"encoder.feed_forward_norm", "layer.1.layer_norm"},
    {"encoder.feed_forward.gate", "layer.1.DenseReluDense.wi_0"},
    {"encoder.feed_forward.gated_up", "layer.1.DenseReluDense.wi_1"},
    {"encoder.feed_forward.up", "layer.1.DenseReluDense.wi"},
    {"encoder.feed_forward.down", "layer.1.DenseReluDense.wo"},
    {"decoder.feed_forward_norm", "layer.2.layer_norm"},
    {"decoder.feed_forward.gate", "layer.2.DenseReluDense.wi_0"},
    {"decoder.feed_forward.gated_up", "layer.2.DenseReluDense.wi_1"},
    {"decoder.feed_forward.up", "layer.2.DenseReluDense.wi"},
    {"decoder.feed_forward.down", "layer.2.DenseReluDense.wo"},
    {"final_norm", "final_layer_norm"},
    {"head.projection", "lm_head"},
};
constexpr Names kNames{.rows = kRows, .layer = "block.{n}.", .encoder = "encoder.", .decoder = "decoder."};

constexpr NameRow kGgufRowsOfT5[] = {
    {"relative", "blk.0.attn_rel_b"}, {"attention.out", "attn_o"},   {"cross_norm", "cross_attn_norm"},
    {"cross.query", "cross_attn_q"},  {"cross.key", "cross_attn_k"}, {"cross.value", "cross_attn_v"},
    {"cross.out", "cross_attn_o"},
};
constexpr Names kGgufNames{
    .rows = kGgufRowsOfT5, .more = kGgufRows, .layer = "blk.{n}.", .encoder = "enc.", .decoder = "dec."};

void read_feed_forward(const Hyperparameters& h, nn::FeedForwardConfig& f) {
  f.bias = false;
  std::string form = "relu";
  if (h.gguf()) form = h.flag(Key::feed_forward) ? "gated-gelu" : "relu";
  else if (h.has(Key::feed_forward)) form = h.text(Key::feed_forward);
  f.gated = form.starts_with("gated-");
  if (form == "relu" || form == "gated-relu") f.activation = nn::Activation::relu;
  else if (form == "gated-gelu") f.activation = nn::Activation::gelu_tanh;
  else if (form == "gelu") f.activation = nn::Activation::gelu;
  else if (form == "gated-silu") f.activation = nn::Activation::silu;
  else h.refuse(Key::feed_forward, "supported are relu, gelu, gated-relu, gated-gelu and gated-silu");
}

// The training length does not limit the context. GGUF files have no key for the distance from which on all keys share the
// last bucket: it is the same in all models.
TransformerConfig read(const Hyperparameters& h) {
  TransformerConfig c;
  c.kind = ModelKind::encoder_decoder;
  c.width = h.count(Key::width);
  c.vocabulary = h.count(Key::vocabulary);
  nn::BlockConfig b;
  b.norm = rms_norm(h);
  c.final_norm = b.norm;
  b.attention.heads = h.count(Key::heads);
  b.attention.kv_heads = h.count_or(Key::kv_heads, 0);
  b.attention.head_dim = h.gguf() ? h.count_or(Key::head_dim, 0) : h.count(Key::head_dim);
  b.attention.qkv_bias = b.attention.out_bias = false;
  b.attention.scale = 1;
  c.dropout = b.dropout = b.attention.dropout = h.real_or(Key::dropout, 0);
  b.feed_forward.inner = h.count(Key::inner);
  read_feed_forward(h, b.feed_forward);
  const Index layers = h.layer_count(Key::encoder_layers);
  c.encoder = alike(b, layers, Part::encoder);
  c.decoder = alike(b, h.has(Key::decoder_layers) ? h.layer_count(Key::decoder_layers) : layers,
                    Part::decoder, Cross::yes);
  c.relative = RelativePositions{h.gguf() ? h.count(Key::buckets) : h.count_or(Key::buckets, 32),
                                 h.count_or(Key::bucket_distance, 128)};
  c.head.tied = h.flag_or(Key::tied, true);
  if (h.flag_or(Key::scale_output, c.head.tied)) c.head.scale = 1 / std::sqrt(static_cast<double>(c.width));
  for (const std::int32_t end : h.tokens(Key::eos)) add_end(c, end);
  c.pad = h.token(Key::pad);
  c.decoder_start = h.has(Key::decoder_start) ? h.token(Key::decoder_start) : c.pad;
  return c;
}

}  // namespace

extern const Family kT5, kMt5;
const Family kT5{"t5", "t5", read, kNames, kGgufNames};
const Family kMt5{"mt5", "", read, kNames};

}  // namespace headlight::models
