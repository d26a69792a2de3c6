#include "models/transformer_config.h"

#include <cmath>

#include "core/concat.h"
#include "headlight/error.h"

namespace headlight::models {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::usage, "model.config", concat("transformer: ", message));
}

void need_positive(const char* name, Index value) {
  if (value < 1) refuse(concat(name, " is ", value, "; need 1 or more"));
  if (value > (Index{1} << 31)) refuse(concat(name, " is ", value, "; that is too large to be meant"));
}

void check(const TransformerConfig& c) {
  need_positive("vocabulary", c.vocabulary);
  need_positive("width", c.width);
  need_positive("layers", c.layers);
  need_positive("heads", c.heads);
  need_positive("inner", c.inner);
  if (c.kind == ModelKind::encoder_decoder) need_positive("encoder_layers", c.encoder_layers);
  if (c.positions == PositionKind::learned || c.positions == PositionKind::sinusoidal)
    need_positive("max_positions", c.max_positions);
  if (!c.windows.empty() && static_cast<Index>(c.windows.size()) != c.layers)
    refuse(concat("windows are given for ", c.windows.size(), " of ", c.layers, " layers; give all or none"));
  for (const double rate : {c.dropout, c.attention_dropout})
    if (!(rate >= 0 && rate < 1)) refuse(concat("a dropout of ", rate, "; need at least 0 and below 1"));
  if (c.dtype != DType::f32 && c.dtype != DType::f64)
    refuse(concat("computing in ", name_of(c.dtype), "; need f32, or f64 for gradient checks"));
  if (c.final_softcap < 0 || c.attention_softcap < 0) refuse("a softcap below 0; 0 means none");
}

}  // namespace

TransformerConfig completed(TransformerConfig c) {
  if (c.inner == 0) c.inner = 4 * c.width;
  if (c.encoder_inner == 0) c.encoder_inner = c.inner;
  if (c.kv_heads == 0) c.kv_heads = c.heads;
  if (c.encoder_heads == 0) c.encoder_heads = c.heads;
  check(c);
  if (c.head_dim == 0) {
    for (const Index heads : {c.heads, c.encoder_heads})
      if (c.width % heads != 0)
        refuse(concat("a width of ", c.width, " cannot be shared by ", heads,
                      " heads; make it a multiple of ", heads, ", or give head_dim"));
    c.head_dim = c.encoder_heads == c.heads ? c.width / c.heads : 0;
  }
  c.norm.width = c.width;
  if (c.norm.kind == nn::NormKind::rms) c.norm.bias = false;
  return c;
}

TransformerConfig gpt_config(const Sizes& sizes) {
  TransformerConfig c;
  c.family = "gpt2";
  c.vocabulary = sizes.vocabulary, c.width = sizes.width, c.layers = sizes.layers, c.heads = sizes.heads;
  c.max_positions = sizes.context;
  c.projections = nn::Projections::packed;
  c.layout = nn::WeightLayout::in_out;
  return completed(c);
}

TransformerConfig llama_config(const Sizes& sizes) {
  TransformerConfig c;
  c.family = "llama";
  c.vocabulary = sizes.vocabulary, c.width = sizes.width, c.layers = sizes.layers, c.heads = sizes.heads;
  c.max_positions = sizes.context;
  c.inner = (sizes.width * 8 / 3 + 31) / 32 * 32;
  c.norm = {.kind = nn::NormKind::rms, .eps = 1e-6, .bias = false};
  c.activation = nn::Activation::silu;
  c.gated = true;
  c.qkv_bias = c.out_bias = c.feed_forward_bias = false;
  c.positions = PositionKind::rope;
  return completed(c);
}

TransformerConfig bert_config(const Sizes& sizes) {
  TransformerConfig c;
  c.family = "bert";
  c.kind = ModelKind::encoder;
  c.vocabulary = sizes.vocabulary, c.width = sizes.width, c.layers = sizes.layers, c.heads = sizes.heads;
  c.max_positions = sizes.context;
  c.norm.eps = 1e-12;
  c.norm_place = nn::NormPlace::after;
  c.embedding_norm = true;
  c.final_norm = false;
  c.activation = nn::Activation::gelu;
  c.token_types = 2;
  c.masked_head = true;
  c.head_bias = true;
  return completed(c);
}

TransformerConfig translation_config(const Sizes& sizes) {
  TransformerConfig c;
  c.family = "marian";
  c.kind = ModelKind::encoder_decoder;
  c.vocabulary = sizes.vocabulary, c.width = sizes.width, c.layers = sizes.layers, c.heads = sizes.heads;
  c.encoder_layers = sizes.layers;
  c.max_positions = sizes.context;
  c.norm_place = nn::NormPlace::after;
  c.final_norm = false;
  c.activation = nn::Activation::relu;
  c.positions = PositionKind::sinusoidal;
  c.embedding_scale = std::sqrt(static_cast<double>(sizes.width));
  c.logits_bias = true;
  c.pad_fixed = true;
  return completed(c);
}

TransformerConfig preset(std::string_view name, Index vocabulary, Index context) {
  if (name == "transformer-base") return translation_config({vocabulary, 512, 6, 8, context});
  if (name == "gpt2") return gpt_config({vocabulary, 768, 12, 12, context});
  if (name == "bert-base") return bert_config({vocabulary, 768, 12, 12, context});
  refuse(concat("no preset is called \"", name, "\"; there are transformer-base, gpt2 and bert-base"));
}

}  // namespace headlight::models
