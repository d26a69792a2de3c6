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

constexpr Index kMost = Index{1} << 31;  // limit of every count

void need_positive(const char* name, Index value, const char* code = "model.config") {
  if (value < 1) refuse(concat(name, " is ", value, "; need 1 or more"));
  if (value > kMost) refuse(concat(name, " is ", value, "; that is implausibly large"), code);
}
// 0 means the default.
void need_size(const char* name, Index value, const char* code = "model.config") {
  if (value != 0) need_positive(name, value, code);
}

constexpr Index kMostExperts = 4096;
void need_experts(const char* name, Index value) {
  if (value < 1 || value > kMostExperts)
    refuse(concat(name, ": ", value, "; need 1 to ", kMostExperts), "model.experts");
}

void check_cap(double cap) {
  if (!(cap >= 0) || !std::isfinite(cap)) refuse(concat("a softcap of ", cap, "; need 0 for none, or more"));
}
void check_rate(double rate) {
  if (!(rate >= 0 && rate < 1)) refuse(concat("a dropout of ", rate, "; need at least 0 and below 1"));
}
void check_scale(double scale) {
  if (!std::isfinite(scale)) refuse("a scale that is not finite");
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

void complete(nn::NormConfig& norm, Index width) {
  if (!(norm.eps >= 0) || !std::isfinite(norm.eps))
    refuse(concat("a norm with eps ", norm.eps), "model.epsilon");
  norm.width = width;
  if (norm.kind == nn::NormKind::rms) norm.bias = false;
}

// Checked before anything is computed from them, so that no product of two sizes overflows.
void complete(nn::MultiHeadAttentionConfig& a, Index width) {
  need_positive("heads", a.heads);
  need_size("kv_heads", a.kv_heads);
  need_size("head_dim", a.head_dim);
  if (a.visible.left != Visibility::kUnbounded) need_positive("a window", a.visible.left + 1);
  a.width = width;
  if (a.kv_heads == 0) a.kv_heads = a.heads;
  if (a.head_dim == 0) {
    if (width % a.heads != 0)
      refuse(concat("a width of ", width, " is not a multiple of ", a.heads, " heads; choose a multiple of ",
                    a.heads, ", or give head_dim"));
    a.head_dim = width / a.heads;
  }
  if (a.latent) {
    need_positive("the rank of latent attention", a.latent->rank);
    need_size("the rank of queries", a.latent->query_rank);
    need_positive("the rotated part of a head", a.latent->turned_dim);
    need_positive("the width of values", a.latent->value_dim);
    complete(a.latent->norm, a.latent->rank);
  }
  if (a.head_norm) complete(*a.head_norm, a.head_dim);
  if (a.rope) check_rope(*a.rope, a.turned_dim());
  if (a.visible.chunk != 0) need_positive("a chunk", a.visible.chunk);
  if (a.query_growth && (!(a.query_growth->every > 0) || !std::isfinite(a.query_growth->scale)))
    refuse(concat("queries that grow every ", a.query_growth->every, " tokens"));
  if (a.disentangled) {
    need_positive("buckets of distances", a.disentangled->buckets);
    need_positive("the largest distance", a.disentangled->max_distance);
  }
  check_rate(a.dropout);
  check_cap(a.softcap);
  check_scale(a.scale.value_or(1));
}

void complete(nn::BlockConfig& b, Index width) {
  complete(b.attention, width);
  if (b.cross) complete(*b.cross, width);
  b.feed_forward.width = width;
  if (b.feed_forward.inner == 0) b.feed_forward.inner = 4 * width;
  need_positive("inner", b.feed_forward.inner);
  if (!(b.feed_forward.gate_limit >= 0) || !std::isfinite(b.feed_forward.gate_limit))
    refuse(concat("a gate's limit of ", b.feed_forward.gate_limit));
  if (b.experts) {
    need_experts("experts", b.experts->count);
    need_experts("experts of a token", b.experts->used);
    need_experts("groups of experts", b.experts->groups);
    need_experts("groups of a token", b.experts->groups_used);
    need_size("the shared expert", b.experts->shared_inner);
    check_scale(b.experts->scale);
  }
  check_scale(b.residual_scale);
  complete(b.norm, width);
  check_rate(b.dropout);
}

void check_sizes(const TransformerConfig& c) {
  need_positive("vocabulary", c.vocabulary, "model.size");
  need_positive("width", c.width);
  need_size("token_types", c.embedding.token_types);
  need_size("embedding_width", c.embedding.width);
  need_size("max_positions", c.max_positions, "model.size");
  need_size("position_offset", c.embedding.position_offset);
  if (c.kind != ModelKind::encoder) need_positive("layers", static_cast<Index>(c.decoder.size()));
  if (c.kind == ModelKind::encoder) need_positive("layers", static_cast<Index>(c.encoder.size()));
  if (c.kind == ModelKind::encoder_decoder)
    need_positive("encoder_layers", static_cast<Index>(c.encoder.size()));
  const AddedPositions positions = c.embedding.positions;
  if (positions != AddedPositions::none) need_positive("max_positions", c.max_positions);
  // Sinusoids are computed, so no table in a file limits them.
  if (positions == AddedPositions::sinusoidal && c.max_positions > (Index{1} << 28) / c.width)
    refuse(concat("sinusoids for ", c.max_positions, " positions; that is implausibly many"));
  if (c.sound) {
    need_positive("sound_bands", c.sound->bands);
    need_positive("sound_positions", c.sound->positions, "model.size");
  }
  if (!c.relative) return;
  need_positive("relative_buckets", c.relative->buckets);
  need_positive("relative_distance", c.relative->distance);
}

// The attention of a model in all layers.
void each_attention_of(nn::BlockConfig& block,
                       const std::function<void(nn::MultiHeadAttentionConfig&)>& change) {
  change(block.attention);
  if (block.cross) change(*block.cross);
}

TransformerConfig sized(const char* family, const Sizes& sizes) {
  TransformerConfig c;
  c.family = family;
  c.vocabulary = sizes.vocabulary, c.width = sizes.width;
  c.max_positions = sizes.context;
  return c;
}

nn::BlockConfig block_of(const Sizes& sizes) {
  need_positive("layers", sizes.layers);
  nn::BlockConfig b;
  b.attention.heads = sizes.heads;
  return b;
}

}  // namespace

bool TransformerConfig::is_end(std::int32_t token) const {
  return std::find(ends.begin(), ends.end(), token) != ends.end();
}

void add_end(TransformerConfig& config, std::int32_t token) {
  if (token >= 0 && !config.is_end(token)) config.ends.push_back(token);
}

void each_layer(TransformerConfig& config, const std::function<void(nn::BlockConfig&)>& change) {
  for (nn::BlockConfig& block : config.encoder) change(block);
  for (nn::BlockConfig& block : config.decoder) change(block);
}

void each_attention(TransformerConfig& config,
                    const std::function<void(nn::MultiHeadAttentionConfig&)>& change) {
  each_layer(config, [&](nn::BlockConfig& block) { each_attention_of(block, change); });
}

void set_positions(TransformerConfig& config, PositionKind kind, const nn::RopeConfig& rope) {
  config.relative.reset();
  config.embedding.positions = kind == PositionKind::learned      ? AddedPositions::learned
                               : kind == PositionKind::sinusoidal ? AddedPositions::sinusoidal
                                                                  : AddedPositions::none;
  each_layer(config, [&](nn::BlockConfig& block) {
    block.attention.rope = kind == PositionKind::rope ? std::optional(rope) : std::nullopt;
    block.attention.alibi = kind == PositionKind::alibi;
  });
}

std::vector<nn::BlockConfig> alike(nn::BlockConfig block, Index layers, Part part, Cross cross) {
  block.attention.part = part;
  block.attention.visible = part == Part::encoder ? Visibility::all() : Visibility::causal();
  if (cross == Cross::yes) {
    block.cross = block.attention;
    block.cross->cross = true;
    block.cross->projections = nn::Projections::separate;
    block.cross->visible = Visibility::all();
    block.cross->rope.reset();
    block.cross->alibi = false;
    block.cross->part = Part::cross;
  }
  std::vector<nn::BlockConfig> list(static_cast<std::size_t>(layers), block);
  for (std::size_t n = 0; n < list.size(); ++n)
    each_attention_of(list[n], [&](nn::MultiHeadAttentionConfig& a) { a.layer = static_cast<int>(n); });
  return list;
}

TransformerConfig completed(TransformerConfig c) {
  check_sizes(c);
  each_layer(c, [&](nn::BlockConfig& block) { complete(block, c.width); });
  if (c.embedding.width == c.width) c.embedding.width = 0;
  const bool narrow_sum = c.embedding.width > 0 && c.embedding.widened == EmbeddingConfig::Widened::sum;
  if (c.embedding.norm) complete(*c.embedding.norm, narrow_sum ? c.embedding.width : c.width);
  if (c.distance_norm) complete(*c.distance_norm, c.width);
  if (c.final_norm) complete(*c.final_norm, c.width);
  if (c.head.masked) complete(c.head.masked->norm, c.table_width());
  check_rate(c.dropout);
  check_cap(c.head.softcap);
  for (const double scale : {c.embedding.scale, c.head.scale, c.initial_range}) check_scale(scale);
  if (c.dtype != DType::f32 && c.dtype != DType::f64)
    refuse(concat("computing in ", name_of(c.dtype), "; need f32, or f64 for gradient checks"));
  return c;
}

TransformerConfig gpt_config(const Sizes& sizes) {
  TransformerConfig c = sized("gpt2", sizes);
  c.embedding.positions = AddedPositions::learned;
  nn::BlockConfig b = block_of(sizes);
  b.attention.projections = nn::Projections::packed;
  b.attention.layout = b.feed_forward.layout = nn::WeightLayout::in_out;
  c.decoder = alike(b, sizes.layers, Part::decoder);
  return completed(c);
}

TransformerConfig llama_config(const Sizes& sizes) {
  TransformerConfig c = sized("llama", sizes);
  nn::BlockConfig b = block_of(sizes);
  b.norm = {.kind = nn::NormKind::rms, .eps = 1e-6, .bias = false};
  b.attention.qkv_bias = b.attention.out_bias = false;
  b.attention.rope = nn::RopeConfig{};
  b.feed_forward = {.inner = (sizes.width * 8 / 3 + 31) / 32 * 32,
                    .activation = nn::Activation::silu,
                    .gated = true,
                    .bias = false};
  c.decoder = alike(b, sizes.layers, Part::decoder);
  c.final_norm = b.norm;
  return completed(c);
}

TransformerConfig bert_config(const Sizes& sizes) {
  TransformerConfig c = sized("bert", sizes);
  c.kind = ModelKind::encoder;
  nn::BlockConfig b = block_of(sizes);
  b.norm.eps = 1e-12;
  b.norm_place = nn::NormPlace::after;
  b.feed_forward.activation = nn::Activation::gelu;
  c.encoder = alike(b, sizes.layers, Part::encoder);
  c.embedding = {.positions = AddedPositions::learned, .token_types = 2, .norm = b.norm};
  c.final_norm.reset();
  c.head.masked = MaskedHead{nn::Activation::gelu, b.norm};
  c.head.bias = true;
  return completed(c);
}

TransformerConfig translation_config(const Sizes& sizes) {
  TransformerConfig c = sized("marian", sizes);
  c.kind = ModelKind::encoder_decoder;
  nn::BlockConfig b = block_of(sizes);
  b.norm_place = nn::NormPlace::after;
  b.feed_forward.activation = nn::Activation::relu;
  c.encoder = alike(b, sizes.layers, Part::encoder);
  c.decoder = alike(b, sizes.layers, Part::decoder, Cross::yes);
  c.final_norm.reset();
  c.embedding.positions = AddedPositions::sinusoidal;
  c.embedding.scale = std::sqrt(static_cast<double>(sizes.width));
  c.head.fixed_bias = true;
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
