// Hyperparameters of a model, by one set of names. config.json and GGUF metadata use different names for the same thing;
// the readers of families depend on neither. hyperparameter_keys.cc has both tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/error.h"
#include "headlight/nn.h"

namespace headlight::models {

enum class Key : std::uint8_t {
  // Sizes
  vocabulary,
  width,
  layers,
  encoder_layers,
  decoder_layers,
  heads,
  encoder_heads,
  decoder_heads,
  kv_heads,
  head_dim,
  value_dim,
  inner,
  encoder_inner,
  decoder_inner,
  context,
  token_types,
  embedding_width,
  sound_bands,
  sound_positions,
  // Experts
  experts,
  experts_used,
  expert_inner,
  shared_experts,
  expert_groups,
  expert_groups_used,
  expert_choice,
  expert_score,
  expert_renormalised,
  expert_scale,
  expert_layers,
  expert_every,
  expert_sparse_step,
  dense_layers,
  dense_first,
  dense_inner,
  gate_limit,
  // Latent attention
  latent_rank,
  latent_query_rank,
  still_dim,
  turned_dim,
  latent_value_dim,
  // Norms
  rms_epsilon,
  layer_epsilon,
  norm_before,
  no_final_norm,
  norm_weights,
  norm_bias,
  // Layers
  activation,
  feed_forward,
  parallel,
  parallel_norms,
  stream_of_norms,
  qkv_bias,
  out_bias,
  feed_forward_bias,
  all_bias,
  // Attention
  head_norm,
  head_layer_norm,
  unit_heads,
  attention_scale,
  scale_scores,
  scale_by_layer,
  query_scale,
  attention_softcap,
  window,
  use_window,
  full_layers,
  cross_attention,
  decodes,
  multi_query,
  groups,
  chunk,
  query_growth,
  query_growth_every,
  query_growth_scale,
  attention_settings,
  both_sides,
  full_every,
  // Positions
  alibi,
  position_type,
  rotated_dims,
  rotating_layers,
  rotating_every,
  pairs_interleaved,
  distances,
  distance_buckets,
  distance_terms,
  distance_shared,
  distance_norm,
  distance_most,
  added_positions,
  distance_convolution,
  buckets,
  bucket_distance,
  // Ends
  scale_embedding,
  embedding_scale,
  residual_scale,
  logits_divisor,
  logits_factor,
  tied,
  head_bias,
  scale_output,
  final_softcap,
  shared_embeddings,
  layer_groups,
  layers_in_group,
  masked_bias,
  masked_activation,
  projection_bias,
  expansion,
  // Training
  dropout,
  attention_dropout,
  initial_range,
  // Storage
  quantization,
  // Tokens
  bos,
  eos,
  pad,
  decoder_start,
};

// Which layers have a sliding window, for files that do not list it layer by layer.
struct WindowRule {
  Index usual = 0;  // keys, if GGUF metadata omit it
  // All layers except every n-th; 1: none, 0: all.
  Index every = 1;
  Index first = 0;  // layers before this one see all
};

struct RopeRule {
  Index head_dim = 0;
  double share = 1;      // of each head that is rotated
  Index dims = 0;        // or this many of its numbers; 0: the share
  double theta = 10000;  // if the files omit it
};

// Default of a field that config.json omits.
struct KeyDefault {
  Key key;
  double value;
};

class Hyperparameters {
 public:
  virtual ~Hyperparameters() = default;

  // GGUF files order some rows differently and store norms without the offset of one.
  [[nodiscard]] virtual bool gguf() const = 0;

  // Whether the files have the field. All functions below throw Error{input}, which names the field, for invalid values.
  [[nodiscard]] virtual bool has(Key key) const = 0;
  // Throws if the field is absent.
  [[nodiscard]] virtual Index count(Key key) const = 0;
  [[nodiscard]] virtual double real(Key key) const = 0;
  [[nodiscard]] virtual bool flag(Key key) const = 0;
  [[nodiscard]] virtual std::string text(Key key) const = 0;
  [[nodiscard]] virtual std::vector<std::int32_t> tokens(Key key) const = 0;  // none when absent
  // Numbers, or names, in a list: none when absent.
  [[nodiscard]] virtual std::vector<Index> counts(Key key) const = 0;
  [[nodiscard]] virtual std::vector<std::string> texts(Key key) const = 0;
  // The kinds of layers in config.json; none when absent. The caller checks them.
  [[nodiscard]] virtual std::vector<std::string> kinds() const = 0;
  // One entry of an object as text ("true", "8", "null"); empty: absent.
  [[nodiscard]] virtual std::string entry(Key key, std::string_view field) const = 0;
  [[nodiscard]] virtual std::vector<std::string> entries(Key key) const = 0;

  // Of a norm; config.json may omit it.
  [[nodiscard]] virtual double epsilon(Key key, double otherwise) const = 0;
  [[nodiscard]] virtual nn::RopeConfig rope(const RopeRule& rule) const = 0;
  // The same for layers that have a window, where they rotate in another way.
  [[nodiscard]] virtual nn::RopeConfig window_rope(const RopeRule& rule) const = 0;
  // How many keys each layer sees, itself included; 0: all.
  [[nodiscard]] virtual std::vector<Index> windows(Index layers, const WindowRule& rule) const = 0;

  // "FILE: FIELD is VALUE: WHY", with the names of the file.
  [[nodiscard]] virtual Error refusal(Key key, const std::string& why) const = 0;
  [[noreturn]] void refuse(Key key, const std::string& why) const { throw refusal(key, why); }

  // ---- Derived values ---------------------------------------------------------------------------------
  [[nodiscard]] Index count_or(Key key, Index otherwise) const { return has(key) ? count(key) : otherwise; }
  [[nodiscard]] double real_or(Key key, double otherwise) const { return has(key) ? real(key) : otherwise; }
  [[nodiscard]] bool flag_or(Key key, bool otherwise) const { return has(key) ? flag(key) : otherwise; }
  [[nodiscard]] std::int32_t token(Key key) const;  // -1: none
  [[nodiscard]] Index layer_count(Key key) const;   // 1 to 10,000
  [[nodiscard]] nn::Activation activation(nn::Activation otherwise) const;
  // Throws Error{input} if the field is present with another value.
  void expect(Key key, bool value, const char* why) const;
};

// "gelu_new" and its like.
[[nodiscard]] std::string_view hub_name(nn::Activation activation);

}  // namespace headlight::models
