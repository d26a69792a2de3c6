// ModernBERT: norms before sublayers, none with a bias, rotations, gates, and two-sided windows in most layers. Its
// first layer has no norm, because the embeddings have one. DeBERTa v2 and v3: BERT with distance terms in scores.
#include <fmt/format.h>

#include <cmath>

#include "models/family_bert.h"

namespace headlight::models {
namespace {

constexpr NameRow kModernRows[] = {
    {"embedding", "embeddings.tok_embeddings"},
    {"embedding_norm", "embeddings.norm"},
    {"attention_norm", "attn_norm"},
    {"attention.qkv", "attn.Wqkv"},
    {"attention.out", "attn.Wo"},
    {"feed_forward_norm", "mlp_norm"},
    {"feed_forward.gate_up", "mlp.Wi"},
    {"feed_forward.down", "mlp.Wo"},
    {"final_norm", "final_norm"},
    {"head.transform", "head.dense"},
    {"head.norm", "head.norm"},
    {"head.projection", "decoder"},
    {"head.bias", "decoder.bias"},
};
constexpr NameRow kDebertaRows[] = {
    {"distances", "encoder.rel_embeddings"},
    {"distance_norm", "encoder.LayerNorm"},
    {"attention.query", "attention.self.query_proj"},
    {"attention.key", "attention.self.key_proj"},
    {"attention.value", "attention.self.value_proj"},
    {"head.transform", "cls.predictions.transform.dense"},
    {"head.norm", "cls.predictions.transform.LayerNorm"},
    {"head.projection", "cls.predictions.decoder"},
    {"head.bias", "cls.predictions.bias"},
};

// The layers with a window: those that layer_types lists, or all except layers 0, n, 2n, …
std::vector<bool> windowed(const Hyperparameters& h, Index layers) {
  std::vector<bool> list(static_cast<std::size_t>(layers), false);
  const std::vector<std::string> kinds = h.kinds();
  const Index every = h.count_or(Key::full_every, 3);
  if (every < 1) h.refuse(Key::full_every, "need 1 or more");
  if (!kinds.empty() && kinds.size() != list.size())
    h.refuse(Key::layers, fmt::format("layer_types has {} of them", kinds.size()));
  for (std::size_t n = 0; n < list.size(); ++n) {
    if (!kinds.empty() && kinds[n] != "sliding_attention" && kinds[n] != "full_attention")
      h.refuse(Key::layers, fmt::format("layer {} is \"{}\", which is not supported", n, kinds[n]));
    list[n] = kinds.empty() ? static_cast<Index>(n) % every != 0 : kinds[n] == "sliding_attention";
  }
  return list;
}

TransformerConfig read_modern(const Hyperparameters& h) {
  nn::NormConfig norm = layer_norm(h);
  norm.bias = h.flag_or(Key::norm_bias, false);
  Draft d = draft(h, {.norm = norm,
                      .activation = nn::Activation::gelu,
                      .gated = true,
                      .qkv_bias = false,
                      .out_bias = false,
                      .feed_forward_bias = false});
  d.block.attention.projections = nn::Projections::packed;
  d.block.feed_forward.gate_packed = true;
  d.block.attention.rope = h.rope({.head_dim = d.head_dim(), .theta = 160000});
  d.c.embedding.norm = norm;
  MaskedHead head{nn::Activation::gelu, norm};
  head.bias = h.flag_or(Key::masked_bias, false);
  if (h.has(Key::masked_activation) && h.text(Key::masked_activation) != "gelu")
    h.refuse(Key::masked_activation, "supported is gelu");
  d.c.head.masked = head;
  d.c.head.bias = h.flag_or(Key::projection_bias, true);
  TransformerConfig c = encoder_of(d);
  c.encoder.front().attention_normed = false;
  const nn::RopeConfig local = h.window_rope({.head_dim = d.head_dim()});
  const Index both = h.count_or(Key::both_sides, 128);
  if (both < 1 || both > (Index{1} << 31)) h.refuse(Key::both_sides, "need 1 or more");
  const std::vector<bool> windows = windowed(h, d.layers);
  for (std::size_t n = 0; n < c.encoder.size(); ++n) {
    if (!windows[n]) continue;
    c.encoder[n].attention.visible = {.left = both / 2, .right = both / 2};
    c.encoder[n].attention.rope = local;
  }
  return c;
}

// content-to-position and position-to-content terms, with the layer's own queries and keys.
TransformerConfig read_deberta(const Hyperparameters& h) {
  Draft d = encoder_draft(h);
  TransformerConfig& c = d.c;
  if (h.flag_or(Key::added_positions, true))
    h.refuse(Key::added_positions,
             "positions that are added to embeddings are not supported; DeBERTa v3 has none");
  c.embedding.positions = AddedPositions::none;
  c.embedding.token_types = h.count_or(Key::token_types, 0);
  if (h.count_or(Key::embedding_width, c.width) != c.width)
    h.refuse(Key::embedding_width, "embeddings narrower than the model are not supported");
  if (h.count_or(Key::distance_convolution, 0) != 0)
    h.refuse(Key::distance_convolution, "a convolution of the first layer is not supported");
  if (!h.flag_or(Key::distances, false)) h.refuse(Key::distances, "need relative attention");
  if (!h.flag_or(Key::distance_shared, false))
    h.refuse(Key::distance_shared, "separate projections for distances are not supported");
  nn::Disentangled terms{.buckets = h.count_or(Key::distance_buckets, -1),
                         .max_distance = h.count_or(Key::distance_most, -1),
                         .content_to_position = false,
                         .position_to_content = false};
  if (terms.max_distance < 1) terms.max_distance = c.max_positions;
  if (terms.buckets < 2) h.refuse(Key::distance_buckets, "need 2 or more");
  for (const std::string& term : h.texts(Key::distance_terms)) {
    if (term == "c2p") terms.content_to_position = true;
    else if (term == "p2c") terms.position_to_content = true;
    else
      h.refuse(Key::distance_terms, fmt::format("\"{}\" is not supported; supported are c2p and p2c", term));
  }
  const std::string norm = h.has(Key::distance_norm) ? h.text(Key::distance_norm) : "none";
  if (norm == "layer_norm") c.distance_norm = d.block.norm;
  else if (norm != "none") h.refuse(Key::distance_norm, "supported are layer_norm and none");
  const int factor = 1 + (terms.content_to_position ? 1 : 0) + (terms.position_to_content ? 1 : 0);
  d.block.attention.disentangled = terms;
  d.block.attention.scale = 1 / std::sqrt(static_cast<double>(factor) * static_cast<double>(d.head_dim()));
  return encoder_of(d);
}

constexpr Names kModernNames{.rows = kModernRows, .layer = "layers.{n}.", .prefix = "model."};

}  // namespace

extern const Family kModernBert, kDebertaV2;
const Family kModernBert{"modernbert", "", read_modern, kModernNames};
const Family kDebertaV2{"deberta-v2", "", read_deberta, like_bert(kDebertaRows, "deberta.")};

}  // namespace headlight::models
