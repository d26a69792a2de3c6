// Attention layers: projections, heads, rotary positions, caches, latent and disentangled attention. nn.h states the
// conventions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "headlight/attention.h"
#include "headlight/context.h"
#include "headlight/kv_cache.h"
#include "headlight/layers.h"
#include "headlight/parameters.h"
#include "headlight/positions.h"
#include "headlight/tensor.h"
#include "headlight/trace.h"

#pragma GCC visibility push(default)

namespace headlight::nn {

// One head, as in the tutorials: keys, queries and values of the same tokens.
class SelfAttention {
 public:
  struct Saved {
    Tensor q, k, v, out, lse;
  };

  SelfAttention(Index width, Index head_dim, bool bias = false, Visibility visible = Visibility::all(),
                DType dtype = DType::f32);
  // x [token, width]; returns [token, head_dim]. `weights`, if requested, becomes [token, token].
  [[nodiscard]] Tensor forward(Context& ctx, ConstTensorView x, Saved* saved = nullptr,
                               Tensor* weights = nullptr) const;
  [[nodiscard]] Tensor backward(Context& ctx, ConstTensorView x, const Saved& saved, ConstTensorView dy);
  void collect(Parameters& list);

  Linear query, key, value;

 private:
  Visibility visible_;
};

// How the projections to queries, keys and values are stored: three matrices; one with all queries first; or
// one with query, key and value of each head together.
enum class Projections : std::uint8_t { separate, packed, by_head };
// Where queries and keys are normalised: each head before the rotation, all heads as one row, or each head after the
// rotation.
enum class HeadNormPlace : std::uint8_t { each, all, turned };

// DeepSeek's latent attention: keys and values of all heads are projected from a few numbers per token, and one key of
// `turned_dim` numbers, shared by all heads, is rotated; it is the end of each key.
struct LatentConfig {
  Index query_rank = 0;  // 0: queries are projected from the input of the layer
  Index rank = 0, turned_dim = 0, value_dim = 0;
  NormConfig norm = {.kind = NormKind::rms, .eps = 1e-6, .bias = false};
  bool operator==(const LatentConfig&) const = default;
};

// Llama 4: queries late in a text are scaled by ln(1 + floor((position + 1) / every))·scale + 1.
struct QueryGrowth {
  double every = 8192, scale = 0.1;
  bool operator==(const QueryGrowth&) const = default;
};

// DeBERTa: scores have two more terms, from the content of one token and its distance to the other.
struct Disentangled {
  Index buckets = 0, max_distance = 0;
  bool content_to_position = true, position_to_content = true;
  bool operator==(const Disentangled&) const = default;
};

struct MultiHeadAttentionConfig {
  Index width = 0, heads = 1;
  Index kv_heads = 0;  // 0: same as heads
  Index head_dim = 0;  // 0: width / heads
  bool cross = false;  // keys and values come from another sequence
  Projections projections = Projections::separate;
  bool qkv_bias = true, out_bias = true;
  WeightLayout layout = WeightLayout::out_in;
  Weights weights = Weights::own;
  std::optional<NormConfig> head_norm = std::nullopt;  // of queries and keys
  HeadNormPlace head_norm_place = HeadNormPlace::each;
  std::optional<LatentConfig> latent = std::nullopt;
  std::optional<RopeConfig> rope = std::nullopt;
  Visibility visible = Visibility::all();
  std::optional<double> scale = std::nullopt;  // default: 1/sqrt(head_dim)
  std::optional<QueryGrowth> query_growth = std::nullopt;
  double softcap = 0;
  bool alibi = false;
  bool sinks = false;                                       // a learned logit per head, without a value
  std::optional<Disentangled> disentangled = std::nullopt;  // calls then need a table of distances
  double dropout = 0;                                       // of weights
  int layer = 0;  // its index in the model, for observers and dropout
  Part part = Part::decoder;

  [[nodiscard]] Index value_dim() const { return latent ? latent->value_dim : head_dim; }
  // The rotated part of a head: its end in latent attention, otherwise all of it.
  [[nodiscard]] Index turned_dim() const { return latent ? latent->turned_dim : head_dim; }
};

// Arguments of one call, in addition to its tokens.
struct AttentionCall {
  int layer = -1;                      // its index in this run if layers are shared; -1: that of the config
  std::span<const Index> starts = {};  // of x; empty: one sequence
  ConstTensorRef memory = {};          // source of cross-attention, [token, width]
  std::span<const Index> memory_starts = {};
  ConstTensorRef bias = {};               // [1 or sequence, head, longest query, longest key]
  ConstTensorRef distances = {};          // disentangled: [2·buckets, width]
  std::span<const Index> positions = {};  // of x, for rotations; empty: counted from 0
  const RopeTable* rope = nullptr;        // null: computed from the config
  // Earlier keys and values. x then holds new tokens, the same number for every sequence unless the cache is empty;
  // cross-attention fills it once and reuses it. f32 only, and not for training.
  KvCache* cache = nullptr;
  std::uint64_t dropout_seed = 0;  // 0: no dropout
  Observer* observer = nullptr;
  Intervention* intervention = nullptr;  // such a call has no backward pass
  ConstTensorRef stream = {};            // input of the norm before this layer; for the observer only
};

class MultiHeadAttention {
 public:
  struct Saved {
    Tensor projected;         // [token, q | k | v], or the queries of cross-attention
    Tensor memory_projected;  // cross: [memory token, k | v]
    Tensor q_normed, k_normed;
    Norm::Saved q_norm, k_norm;
    Tensor mixed, lse;  // [token, heads·value_dim], [1, head, token]
    // Latent attention: the low-rank projections, and their norms.
    Tensor query_down, query_down_normed, down, latent;
    Norm::Saved query_down_norm, latent_norm;
    Tensor terms;  // disentangled: both terms as a bias
  };

  MultiHeadAttention() = default;
  MultiHeadAttention(const std::string& name, const MultiHeadAttentionConfig& config,
                     DType dtype = DType::f32);
  [[nodiscard]] Tensor forward(Context& ctx, ConstTensorView x, const AttentionCall& call,
                               Saved* saved = nullptr) const;
  // Adds to dmemory; writes dbias, the gradient of call.bias, unless it is empty.
  [[nodiscard]] Tensor backward(Context& ctx, ConstTensorView x, const AttentionCall& call,
                                const Saved& saved, ConstTensorView dy, TensorView dmemory = {},
                                TensorView dbias = {});
  void collect(Parameters& list);
  [[nodiscard]] const MultiHeadAttentionConfig& config() const noexcept { return config_; }
  // A cache for `items` sequences of this layer.
  [[nodiscard]] KvCache make_cache(const Context& ctx, Index items, KvType type = KvType::f32) const;

  Linear query, key, value, packed;  // three, or `packed`
  Linear out;
  Norm query_norm, key_norm;
  Linear query_down, down, up;  // latent: `query` and `up` read the output of these
  Norm query_down_norm, latent_norm;
  Parameter sinks;  // [head]

 private:
  struct [[gnu::visibility("hidden")]] Heads;  // src/nn/attention.h
  void make_latent(const std::string& name, DType dtype);
  void project_latent(Context& ctx, ConstTensorView x, Saved& s) const;
  [[nodiscard]] Tensor backward_latent(Context& ctx, ConstTensorView x, const Saved& s, Tensor& d);
  void normalize(Context& ctx, Heads& h, Saved& s) const;
  void normalize_back(Context& ctx, const Heads& from, const Saved& s, const Heads& grads, const Heads& to);
  enum class Way : std::uint8_t { forward, back };
  void rotate(Context& ctx, const Heads& h, const AttentionCall& call, Way way) const;
  void grow_queries(const TensorView& q, const AttentionCall& call) const;
  [[nodiscard]] Tensor distance_terms(Context& ctx, const Heads& h, const AttentionCall& call) const;
  [[nodiscard]] Heads heads(TensorView projected, TensorView memory_projected) const;
  [[nodiscard]] AttentionOptions options(const AttentionCall& call) const;
  void project(Context& ctx, ConstTensorView x, const AttentionCall& call, Saved& s) const;
  [[nodiscard]] Heads prepare(Context& ctx, const AttentionCall& call, Saved& s) const;
  void attend(Context& ctx, ConstTensorView x, const Heads& h, const AttentionCall& call, Saved& s) const;
  void decode(Context& ctx, ConstTensorView x, const Heads& h, const AttentionCall& call, Saved& s) const;
  [[nodiscard]] Tensor backward_projections(Context& ctx, ConstTensorView x, const AttentionCall& call,
                                            const Tensor& d, const Tensor& dmemory_projected,
                                            TensorView dmemory);

  MultiHeadAttentionConfig config_;
  Tensor slopes_;
};

}  // namespace headlight::nn

#pragma GCC visibility pop
