#include "models/transformer_config.h"

#include <algorithm>
#include <cmath>

#include "core/concat.h"
#include "headlight/error.h"

namespace headlight::models {
namespace {

[[noreturn]] void refuse(const std::string& message, const char* code = "model.config") {
  throw Error(ErrorKind::usage, code, concat("transformer: ", message));
}

constexpr Index kMost = Index{1} << 31;  // of anything that is counted

void need_positive(const char* name, Index value, const char* code = "model.config") {
  if (value < 1) refuse(concat(name, " is ", value, "; need 1 or more"));
  if (value > kMost) refuse(concat(name, " is ", value, "; that is too large to be meant"), code);
}
// 0 stands for "as usual".
void need_size(const char* name, Index value, const char* code = "model.config") {
  if (value != 0) need_positive(name, value, code);
}

// Before anything is computed from them: no product of two sizes overflows.
void check_sizes(const TransformerConfig& c) {
  need_positive("vocabulary", c.vocabulary, "model.size");
  need_positive("width", c.width);
  need_positive("layers", c.layers);
  need_positive("heads", c.heads);
  need_size("inner", c.inner);
  need_size("encoder_inner", c.encoder_inner);
  need_size("kv_heads", c.kv_heads);
  need_size("encoder_heads", c.encoder_heads);
  need_size("head_dim", c.head_dim);
  need_size("token_types", c.token_types);
  need_size("max_positions", c.max_positions, "model.size");
  need_size("position_offset", c.position_offset);
  need_positive("relative_buckets", c.relative_buckets);
  need_positive("relative_distance", c.relative_distance);
  if (c.kind == ModelKind::encoder_decoder) need_positive("encoder_layers", c.encoder_layers);
  if (c.positions == PositionKind::learned || c.positions == PositionKind::sinusoidal)
    need_positive("max_positions", c.max_positions);
  // Sinusoids are computed, so no file bounds them.
  if (c.positions == PositionKind::sinusoidal && c.max_positions > (Index{1} << 28) / c.width)
    refuse(concat("sinusoids for ", c.max_positions, " positions; that is too many to be meant"));
  if (!c.windows.empty() && static_cast<Index>(c.windows.size()) != c.layers)
    refuse(concat("windows are given for ", c.windows.size(), " of ", c.layers, " layers; give all or none"));
  for (const Index window : c.windows) need_size("a window", window);
}

void check_rope(const nn::RopeConfig& rope, Index head_dim) {
  const Index dims = rope.dims > 0 ? rope.dims : head_dim;
  if (dims % 2 != 0 || dims > head_dim)
    refuse(concat(dims, " of ", head_dim, " dimensions rotated; need an even number of them"));
  if (!(rope.theta > 0) || !(rope.scaling.factor > 0) || !std::isfinite(rope.theta) ||
      !std::isfinite(rope.scaling.factor))
    refuse(concat("rotations with base ", rope.theta, " and factor ", rope.scaling.factor,
                  "; need positive ones"));
}

void check_numbers(const TransformerConfig& c) {
  for (const double rate : {c.dropout, c.attention_dropout})
    if (!(rate >= 0 && rate < 1)) refuse(concat("a dropout of ", rate, "; need at least 0 and below 1"));
  if (c.dtype != DType::f32 && c.dtype != DType::f64)
    refuse(concat("computing in ", name_of(c.dtype), "; need f32, or f64 for gradient checks"));
  for (const double cap : {c.final_softcap, c.attention_softcap})
    if (!(cap >= 0) || !std::isfinite(cap))
      refuse(concat("a softcap of ", cap, "; need 0 for none, or more"));
  if (!(c.norm.eps >= 0) || !std::isfinite(c.norm.eps))
    refuse(concat("a norm with eps ", c.norm.eps), "model.epsilon");
  for (const double x : {c.attention_scale.value_or(1), c.embedding_scale, c.head_scale, c.initial_range})
    if (!std::isfinite(x)) refuse("a scale that is not finite");
  if (c.positions == PositionKind::rope) {
    check_rope(c.rope, c.head_dim);
    if (c.window_rope) check_rope(*c.window_rope, c.head_dim);
  }
}

}  // namespace

bool TransformerConfig::is_end(std::int32_t token) const {
  return std::find(ends.begin(), ends.end(), token) != ends.end();
}

void add_end(TransformerConfig& config, std::int32_t token) {
  if (token >= 0 && !config.is_end(token)) config.ends.push_back(token);
}

TransformerConfig completed(TransformerConfig c) {
  check_sizes(c);
  if (c.inner == 0) c.inner = 4 * c.width;
  if (c.encoder_inner == 0) c.encoder_inner = c.inner;
  if (c.kv_heads == 0) c.kv_heads = c.heads;
  if (c.encoder_heads == 0) c.encoder_heads = c.heads;
  if (c.head_dim == 0) {
    for (const Index heads : {c.heads, c.encoder_heads})
      if (c.width % heads != 0)
        refuse(concat("a width of ", c.width, " cannot be shared by ", heads,
                      " heads; make it a multiple of ", heads, ", or give head_dim"));
    c.head_dim = c.encoder_heads == c.heads ? c.width / c.heads : 0;
  }
  check_numbers(c);
  c.norm.width = c.width;
  if (c.norm.kind == nn::NormKind::rms) c.norm.bias = false;
  return c;
}

double least_parameters(const TransformerConfig& c) {
  const auto of = [](Index n) { return static_cast<double>(n); };
  const auto block = [&](Index heads, Index kv_heads, Index inner, bool cross) {
    const double dim = c.head_dim > 0 ? of(c.head_dim) : of(c.width) / of(heads);
    const double attention = 2 * of(c.width) * dim * (of(heads) + of(kv_heads));
    return attention * (cross ? 2 : 1) + (c.gated ? 3 : 2) * of(c.width) * of(inner);
  };
  double sum = of(c.vocabulary) * of(c.width) * (c.tied ? 1 : 2);
  const bool both = c.kind == ModelKind::encoder_decoder;
  sum += of(c.layers) * block(c.heads, c.kv_heads, c.inner, both);
  if (both) sum += of(c.encoder_layers) * block(c.encoder_heads, c.encoder_heads, c.encoder_inner, false);
  if (c.positions == PositionKind::learned)
    sum += of(c.max_positions + c.position_offset) * of(c.width) * (both ? 2 : 1);
  if (c.positions == PositionKind::relative) sum += of(c.relative_buckets) * of(c.heads) * (both ? 2 : 1);
  return sum + of(c.token_types) * of(c.width);
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
