// StableLM, StarCoder 2 and Nemotron: Llama with norms of mean and variance, and each with its own kind of feed-forward.
#include "models/family_gguf.h"
#include "models/family_llama.h"

namespace headlight::models {
namespace {

constexpr NameRow kStarcoderRows[] = {{"feed_forward.up", "mlp.c_fc"}, {"feed_forward.down", "mlp.c_proj"}};
constexpr NameRow kNemotronRows[] = {{"feed_forward.up", "mlp.up_proj"}};

TransformerConfig read_stablelm(const Hyperparameters& h) {
  Usual usual = llama_usual(layer_norm(h));
  Draft d = draft(h, usual);
  if (!h.gguf()) d.block.attention.out_bias = false;
  d.block.attention.rope = h.rope({.head_dim = d.head_dim(), .share = 0.25});
  if (h.flag_or(Key::parallel, false)) d.block.shape = nn::BlockShape::parallel_one_norm;
  h.expect(Key::head_layer_norm, false, "norms with separate parameters for each head are not supported");
  return decoder_of(d);
}

TransformerConfig read_starcoder2(const Hyperparameters& h) {
  const bool bias = h.flag_or(Key::all_bias, true);
  Draft d = draft(h, {.norm = layer_norm(h), .qkv_bias = bias, .out_bias = bias, .feed_forward_bias = bias});
  d.block.attention.rope = h.rope({.head_dim = d.head_dim()});
  d.windows = h.windows(d.layers, {.every = 0});
  return decoder_of(d);
}

// Its files store the parameters of norms minus one.
TransformerConfig read_nemotron(const Hyperparameters& h) {
  Usual usual = llama_usual(layer_norm(h));
  usual.norm.weight_plus_one = !h.gguf();
  usual.activation = nn::Activation::relu_squared;
  usual.gated = false;
  Draft d = draft(h, usual);
  d.block.attention.rope = h.rope({.head_dim = d.head_dim(), .share = 0.5});
  return decoder_of(d);
}

}  // namespace

extern const Family kStablelm, kStarcoder2, kNemotron;
const Family kStablelm{"stablelm", "stablelm", read_stablelm, like_llama(), gguf_names()};
const Family kStarcoder2{"starcoder2", "starcoder2", read_starcoder2, like_llama(kStarcoderRows),
                         gguf_names()};
const Family kNemotron{"nemotron", "nemotron", read_nemotron, like_llama(kNemotronRows), gguf_names()};

}  // namespace headlight::models
