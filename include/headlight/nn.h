// The layers of a transformer, forward and backward each.
//
// Tokens are the rows of one matrix [token, width], sequences end to end without padding; only attention
// and positions look at where a sequence starts. Everything is f32, or f64 for gradient checks, as the
// parameters are.
//
// `Saved` is a layer's memory of one forward pass, owned by the caller: inference passes none, training one
// per layer. Inputs are not copied into it: backward is given x again, the same as forward was. backward
// returns the gradient of x and adds to those of the parameters, which it makes (zero) when they are not
// there yet. Results are the same bits for any number of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/attention.h"
#include "headlight/context.h"
#include "headlight/kv_cache.h"
#include "headlight/parameters.h"
#include "headlight/positions.h"
#include "headlight/tensor.h"
#include "headlight/trace.h"

#pragma GCC visibility push(default)

namespace headlight::nn {

// ---- Linear, Embedding --------------------------------------------------------------------------------

enum class WeightLayout : std::uint8_t { out_in, in_out };  // GPT-2 alone stores [in, out]
// own: parameters are tensors, to be trained. stored: matrices are given later, in the precision they have
// (Parameter::stored); such a layer takes no memory for them and has no backward.
enum class Weights : std::uint8_t { own, stored };

struct LinearConfig {
  Index in = 0, out = 0;
  bool bias = true;
  WeightLayout layout = WeightLayout::out_in;
  Weights weights = Weights::own;
};

// A correction of low rank beside a matrix that stays as it is (LoRA, Hu et al. 2021): y += scale·(x·Aᵀ)·Bᵀ.
struct LowRank {
  Parameter a, b;  // [rank, in], [out, rank], whatever the layout of the matrix
  double scale = 1;
  [[nodiscard]] bool empty() const noexcept { return a.empty(); }
  [[nodiscard]] Index rank() const { return a.empty() ? 0 : a.value.dim(0); }
};

// y = x·Wᵀ + b, and what an adapter adds. Parameters that are not trained (Parameter::trained) get no gradients.
class Linear {
 public:
  Linear() = default;  // empty: to be assigned
  Linear(const std::string& name, const LinearConfig& config, DType dtype = DType::f32);

  [[nodiscard]] Tensor forward(Context& ctx, ConstTensorView x) const;
  void forward(Context& ctx, ConstTensorView x, TensorView y) const;  // y may be columns of a wider matrix
  // Several layers on the same x: together they keep the threads busy better.
  struct Target {
    const Linear& linear;
    TensorRef y;
  };
  static void forward_all(Context& ctx, ConstTensorView x, std::span<const Target> targets);
  [[nodiscard]] Tensor backward(Context& ctx, ConstTensorView x, ConstTensorView dy);
  // The parts of backward, for those who know more about dy.
  enum class Write : std::uint8_t { set, add };
  void backward_input(Context& ctx, ConstTensorView dy, TensorView dx, Write write = Write::set) const;
  void backward_weight(Context& ctx, ConstTensorView x, ConstTensorView dy);
  void backward_bias(Context& ctx, ConstTensorView dy);

  // An adapter of zeros, to be filled. Throws Error{usage} for a rank below 1.
  void adapt(Index rank, double scale);
  // The adapter becomes a part of the matrix, which must be a tensor of its own, and is gone.
  void merge_adapter(Context& ctx);

  [[nodiscard]] bool empty() const noexcept { return weight.empty(); }
  [[nodiscard]] const LinearConfig& config() const noexcept { return config_; }
  void collect(Parameters& list);

  Parameter weight, bias;
  LowRank adapter;  // empty: none

 private:
  LinearConfig config_;
};

// Rows of a table by number.
class Embedding {
 public:
  Embedding() = default;
  Embedding(const std::string& name, Index rows, Index width, DType dtype = DType::f32,
            Weights weights = Weights::own);

  // y = factor · rows, or y += rows. A number outside of the table is Error{input}.
  void forward(Context& ctx, std::span<const std::int32_t> ids, TensorView y, double factor = 1) const;
  void forward_add(Context& ctx, std::span<const std::int32_t> ids, TensorView y) const;
  // Row number `fixed` learns nothing.
  void backward(Context& ctx, std::span<const std::int32_t> ids, ConstTensorView dy, double factor = 1,
                std::int32_t fixed = -1);

  [[nodiscard]] bool empty() const noexcept { return weight.empty(); }
  void collect(Parameters& list);

  Parameter weight;  // [row, width]
};

// ---- Norms --------------------------------------------------------------------------------------------

enum class NormKind : std::uint8_t { layer, rms };

struct NormConfig {
  NormKind kind = NormKind::layer;
  Index width = 0;
  double eps = 1e-5;
  bool bias = true;              // layer norms alone have one
  bool weight_plus_one = false;  // Gemma stores its weights less one
  bool weighted = true;          // false: it has no parameters
  bool operator==(const NormConfig&) const = default;
};

class Norm {
 public:
  struct Saved {
    Tensor mean, rstd;  // one per row
  };

  Norm() = default;
  Norm(const std::string& name, const NormConfig& config, DType dtype = DType::f32);

  // x [row, width], or [token, head, width] for norms of single heads; any strides but that of the last axis.
  [[nodiscard]] Tensor forward(Context& ctx, ConstTensorView x, Saved* saved = nullptr) const;
  void forward(Context& ctx, ConstTensorView x, TensorView y, Saved* saved = nullptr) const;
  // The norm of x + add, which is written to `sum`; sum may be the memory of `add`.
  [[nodiscard]] Tensor forward_sum(Context& ctx, ConstTensorView x, ConstTensorView add, TensorView sum,
                                   Saved* saved = nullptr) const;
  // dx, plus `add` unless that is empty: a residual's own gradient.
  [[nodiscard]] Tensor backward(Context& ctx, ConstTensorView x, const Saved& saved, ConstTensorView dy);
  // dx may be the memory of dy or of `add`.
  void backward(Context& ctx, ConstTensorView x, const Saved& saved, ConstTensorView dy, TensorView dx,
                ConstTensorView add = {});

  [[nodiscard]] bool empty() const noexcept { return weight.value.empty(); }
  void collect(Parameters& list);

  Parameter weight, bias;

 private:
  NormConfig config_;
};

struct LayerNorm : Norm {
  LayerNorm(const std::string& name, Index width, double eps = 1e-5, DType dtype = DType::f32)
      : Norm(name, {.kind = NormKind::layer, .width = width, .eps = eps}, dtype) {}
};
struct RmsNorm : Norm {
  RmsNorm(const std::string& name, Index width, double eps = 1e-6, DType dtype = DType::f32)
      : Norm(name, {.kind = NormKind::rms, .width = width, .eps = eps, .bias = false}, dtype) {}
};

// ---- Activations, dropout -----------------------------------------------------------------------------

enum class Activation : std::uint8_t {
  relu,
  gelu,
  gelu_tanh,
  silu,
  tanh,
  sigmoid,
  relu_squared
};                                                                       // gelu: with erf
[[nodiscard]] std::string_view name_of(Activation activation) noexcept;  // "gelu_tanh"

// x and y [row, column]; y may be x where forward needs nothing saved, dx may be dy.
void activate(Context& ctx, Activation activation, ConstTensorView x, TensorView y);
// Adds the columns of dx to the gradient of `bias` unless that is null: a bias that was added to x.
void activate_backward(Context& ctx, Activation activation, ConstTensorView x, ConstTensorView dy,
                       TensorView dx, Parameter* bias = nullptr);
// y = activation(gate)·up with gate and up the left and right half of x [row, 2·column]: SwiGLU, GeGLU.
void gate(Context& ctx, Activation activation, ConstTensorView x, TensorView y);
void gate_backward(Context& ctx, Activation activation, ConstTensorView x, ConstTensorView dy, TensorView dx);

// y = add + dropped x. Which elements go depends on (seed, layer, row, column) alone, so the way back is
// the same call on the gradient. x and y may be the same memory; `add` may be empty.
void drop(Context& ctx, const Dropout& dropout, ConstTensorView x, TensorView y, ConstTensorView add = {});

// y += x
void add_to(Context& ctx, ConstTensorView x, TensorView y);
// x *= factor
void scale(Context& ctx, double factor, TensorView x);

// ---- Feed-forward -------------------------------------------------------------------------------------

struct FeedForwardConfig {
  Index width = 0, inner = 0;
  Activation activation = Activation::gelu_tanh;
  bool gated = false;        // activation(x·gate)·(x·up) instead of activation(x·up)
  bool gate_packed = false;  // gate and up are one matrix
  bool bias = true;
  WeightLayout layout = WeightLayout::out_in;
  Weights weights = Weights::own;
  bool gate_pairs = false;  // of a packed one: their columns take turns
  // GPT-OSS: (up + 1)·gate·sigmoid(1.702·gate), with gate at most and up within so much; 0: the usual gate.
  double gate_limit = 0;
};

class FeedForward {
 public:
  struct Saved {
    Tensor wide, active;  // before and after the activation
  };

  FeedForward() = default;
  FeedForward(const std::string& name, const FeedForwardConfig& config, DType dtype = DType::f32);
  [[nodiscard]] Tensor forward(Context& ctx, ConstTensorView x, Saved* saved = nullptr) const;
  [[nodiscard]] Tensor backward(Context& ctx, ConstTensorView x, const Saved& saved, ConstTensorView dy);
  void collect(Parameters& list);

  Linear gate, up, down;  // no `gate` unless gated; packed, `up` holds both

 private:
  void open_gate(Context& ctx, Tensor& wide, TensorView active) const;
  void open_gate_backward(Context& ctx, ConstTensorView wide, ConstTensorView dactive, Tensor& dwide) const;
  FeedForwardConfig config_;
};

// ---- Experts ------------------------------------------------------------------------------------------

// Feed-forwards of which each token sees a few: those to which a router gives the best scores.
struct ExpertsConfig {
  enum class Score : std::uint8_t { softmax, sigmoid };
  Index count = 0, used = 0;
  Score score = Score::softmax;  // of the router's logits
  bool renormalised = false;     // the weights of a token's experts sum to 1
  double scale = 1;              // of all weights
  bool router_bias = false;
  bool correction = false;  // learned numbers that are added to scores for the choice alone
  // Only experts of the best `groups_used` groups are chosen. A group is as good as its best expert, or with corrections
  // as the sum of its two best.
  Index groups = 1, groups_used = 1;
  bool weighs_input = false;  // the weight is that of what an expert reads, not of its answer
  Index shared_inner = 0;     // width of a feed-forward that all tokens see besides; 0: none
  bool operator==(const ExpertsConfig&) const = default;
};

class Experts {
 public:
  struct Saved {
    Tensor logits;                      // [token, expert]
    std::vector<std::int32_t> experts;  // [token, used]
    std::vector<double> scores;         // likewise, before they were weights
    std::vector<double> weights;
    // Of each expert: its tokens and their places among `experts`; what it read, and what it answered.
    struct Visit {
      std::vector<Index> places;
      Tensor x, y;
      FeedForward::Saved saved;
    };
    std::vector<Visit> visits;
    FeedForward::Saved shared;
  };

  Experts() = default;
  // `one` is what each of them is.
  Experts(const std::string& name, const ExpertsConfig& config, const FeedForwardConfig& one,
          DType dtype = DType::f32);
  [[nodiscard]] Tensor forward(Context& ctx, ConstTensorView x, Saved& saved) const;
  [[nodiscard]] Tensor backward(Context& ctx, ConstTensorView x, const Saved& saved, ConstTensorView dy);
  [[nodiscard]] bool empty() const noexcept { return experts.empty(); }
  [[nodiscard]] const ExpertsConfig& config() const noexcept { return config_; }
  void collect(Parameters& list);

  Linear router;
  Parameter correction;  // [expert]
  std::vector<FeedForward> experts;
  FeedForward shared;

 private:
  void choose(Saved& s, Index tokens) const;
  [[nodiscard]] Tensor logits_backward(const Saved& s, const std::vector<double>& dweights) const;
  ExpertsConfig config_;
  FeedForwardConfig one_;
};

// ---- Attention ----------------------------------------------------------------------------------------

// One head, as the tutorials have it: keys, queries and values of the same tokens.
class SelfAttention {
 public:
  struct Saved {
    Tensor q, k, v, out, lse;
  };

  SelfAttention(Index width, Index head_dim, bool bias = false, Visibility visible = Visibility::all(),
                DType dtype = DType::f32);
  // x [token, width]; returns [token, head_dim]. `weights`, when wanted, becomes [token, token].
  [[nodiscard]] Tensor forward(Context& ctx, ConstTensorView x, Saved* saved = nullptr,
                               Tensor* weights = nullptr) const;
  [[nodiscard]] Tensor backward(Context& ctx, ConstTensorView x, const Saved& saved, ConstTensorView dy);
  void collect(Parameters& list);

  Linear query, key, value;

 private:
  Visibility visible_;
};

// How the projections to queries, keys and values are stored: three matrices; one, all queries first; or
// one that has query, key and value of each head together.
enum class Projections : std::uint8_t { separate, packed, by_head };
// What a norm of queries and keys is about: each head before the rotation, all heads as one row, or each head
// after the rotation.
enum class HeadNormPlace : std::uint8_t { each, all, turned };

// DeepSeek's latent attention: keys and values of all heads are made from a few numbers per token, and one key of
// `turned_dim` numbers that all heads share is rotated; it is the end of each key.
struct LatentConfig {
  Index query_rank = 0;  // 0: queries are made from the layer's input
  Index rank = 0, turned_dim = 0, value_dim = 0;
  NormConfig norm = {.kind = NormKind::rms, .eps = 1e-6, .bias = false};
  bool operator==(const LatentConfig&) const = default;
};

// Llama 4: queries far into a text are longer: by ln(1 + floor((position + 1) / every))·scale + 1.
struct QueryGrowth {
  double every = 8192, scale = 0.1;
  bool operator==(const QueryGrowth&) const = default;
};

// DeBERTa: scores have two more terms, of the content of one token and the distance to the other.
struct Disentangled {
  Index buckets = 0, max_distance = 0;
  bool content_to_position = true, position_to_content = true;
  bool operator==(const Disentangled&) const = default;
};

struct MultiHeadAttentionConfig {
  Index width = 0, heads = 1;
  Index kv_heads = 0;  // 0: as heads
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
  std::optional<double> scale = std::nullopt;  // 1/sqrt(head_dim) unless given
  std::optional<QueryGrowth> query_growth = std::nullopt;
  double softcap = 0;
  bool alibi = false;
  bool sinks = false;                                       // a learned logit per head that has no value
  std::optional<Disentangled> disentangled = std::nullopt;  // then calls have a table of distances
  double dropout = 0;                                       // of weights
  int layer = 0;  // its place in the model; observers and dropout read it
  Part part = Part::decoder;

  [[nodiscard]] Index value_dim() const { return latent ? latent->value_dim : head_dim; }
  // The part of a head that rotations know: its end in latent attention, else all of it.
  [[nodiscard]] Index turned_dim() const { return latent ? latent->turned_dim : head_dim; }
};

// What one call is about, besides its tokens.
struct AttentionCall {
  int layer = -1;                      // its place in this run, where layers are shared; -1: the config's
  std::span<const Index> starts = {};  // of x; empty: one sequence
  ConstTensorRef memory = {};          // what cross-attention looks at, [token, width]
  std::span<const Index> memory_starts = {};
  ConstTensorRef bias = {};               // [1 or sequence, head, longest query, longest key]
  ConstTensorRef distances = {};          // disentangled: [2·buckets, width]
  std::span<const Index> positions = {};  // of x, for rotations; empty: counted here
  const RopeTable* rope = nullptr;        // null: made here, from the config
  // Earlier keys and values. x are then new tokens, as many for every sequence unless the cache is empty;
  // cross-attention fills it once and reads it ever after. f32 only, and not for training.
  KvCache* cache = nullptr;
  std::uint64_t dropout_seed = 0;  // 0: no dropout
  Observer* observer = nullptr;
  Intervention* intervention = nullptr;  // then there is no backward
  ConstTensorRef stream = {};            // what the norm before this layer read; for the observer alone
};

class MultiHeadAttention {
 public:
  struct Saved {
    Tensor projected;         // [token, q | k | v], or the queries of cross-attention
    Tensor memory_projected;  // cross: [memory token, k | v]
    Tensor q_normed, k_normed;
    Norm::Saved q_norm, k_norm;
    Tensor mixed, lse;  // [token, heads·value_dim], [1, head, token]
    // Latent attention: what the narrow matrices made, and the norms of that.
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
  // A cache for `items` sequences of what this layer has to keep.
  [[nodiscard]] KvCache make_cache(const Context& ctx, Index items, KvType type = KvType::f32) const;

  Linear query, key, value, packed;  // three, or `packed`
  Linear out;
  Norm query_norm, key_norm;
  Linear query_down, down, up;  // latent: `query` and `up` read what these narrow ones wrote
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

// ---- Blocks -------------------------------------------------------------------------------------------

// before: x + f(norm(x)).  after: norm(x + f(x)), the 2017 order.  both: x + norm(f(norm(x))).  output: x + norm(f(x)).
enum class NormPlace : std::uint8_t { before, after, both, output };
// parallel: x + attention(norm(x)) + feed_forward(norm(x)), with one norm or two.
enum class BlockShape : std::uint8_t { serial, parallel, parallel_one_norm };

struct BlockConfig {
  MultiHeadAttentionConfig attention;
  std::optional<MultiHeadAttentionConfig> cross = std::nullopt;
  FeedForwardConfig feed_forward;  // or what each of its experts is
  std::optional<ExpertsConfig> experts = std::nullopt;
  NormConfig norm;
  NormPlace norm_place = NormPlace::before;
  bool attention_normed = true;  // false: attention reads the stream itself, where norms are before
  BlockShape shape = BlockShape::serial;
  double residual_scale = 1;  // of what attention and feed-forward add to the stream
  double dropout = 0;         // of what attention and feed-forward return
};

struct BlockCall {
  AttentionCall self = {}, cross = {};
  std::uint64_t dropout_seed = 0;  // 0: no dropout
};

class Block {
 public:
  // One of the block's two or three steps: attention, cross-attention, feed-forward.
  struct StepSaved {
    Tensor normed;     // what the step read, when a norm stands before it
    Norm::Saved norm;  // of the norm before it, or of the one after its sum
    Tensor sum;        // stream + step, before the norm that may come after
    Tensor branch;     // what the step returned, when a norm of its own follows
    Norm::Saved post_norm;
  };
  struct Saved {
    StepSaved attention_step, cross_step, feed_forward_step;
    Tensor after_attention, after_cross;  // NormPlace::after: what the next step read
    MultiHeadAttention::Saved attention, cross;
    FeedForward::Saved feed_forward;
    Experts::Saved experts;
  };

  Block() = default;
  Block(const std::string& name, const BlockConfig& config, DType dtype = DType::f32);
  [[nodiscard]] Tensor forward(Context& ctx, ConstTensorView x, const BlockCall& call,
                               Saved* saved = nullptr) const;
  // dy is used up. Adds to dmemory; writes dbias.
  [[nodiscard]] Tensor backward(Context& ctx, ConstTensorView x, const BlockCall& call, const Saved& saved,
                                Tensor dy, TensorView dmemory = {}, TensorView dbias = {});
  void collect(Parameters& list);
  [[nodiscard]] const BlockConfig& config() const noexcept { return config_; }

  MultiHeadAttention attention, cross;
  FeedForward feed_forward;
  Experts experts;                                     // in place of feed_forward
  Norm attention_norm, cross_norm, feed_forward_norm;  // empty where NormPlace::output
  Norm attention_post_norm, feed_forward_post_norm;    // NormPlace::both and output

 private:
  [[nodiscard]] Tensor forward_before(Context& ctx, ConstTensorView x, const BlockCall& call, Saved& s) const;
  [[nodiscard]] Tensor forward_after(Context& ctx, ConstTensorView x, const BlockCall& call, Saved& s) const;
  [[nodiscard]] Tensor forward_parallel(Context& ctx, ConstTensorView x, const BlockCall& call,
                                        Saved& s) const;
  // The feed-forward, or the experts.
  [[nodiscard]] Tensor feed(Context& ctx, ConstTensorView x, const BlockCall& call, Saved& s) const;
  struct [[gnu::visibility("hidden")]] Backward;  // src/nn/block_backward.cc
  BlockConfig config_;
};

// ---- Loss ---------------------------------------------------------------------------------------------

struct CrossEntropyOptions {
  double scale = 1;             // of the gradient
  double label_smoothing = 0;   // this much of each target is spread evenly over all classes
  double softcap = 0;           // cap·tanh(logit/cap) first; 0: none
  std::int32_t ignored = -100;  // a target that does not count
  bool gradient = true;         // the logits become their gradient; false: they stay
};
struct CrossEntropy {
  double sum = 0;    // nats, with label smoothing
  double plain = 0;  // without
  Index targets = 0, correct = 0;
};
// logits [row, class], one target per row.
[[nodiscard]] CrossEntropy cross_entropy(Context& ctx, TensorView logits,
                                         std::span<const std::int32_t> targets,
                                         const CrossEntropyOptions& options = {});

}  // namespace headlight::nn

#pragma GCC visibility pop
