// The layers of transformer blocks, forward and backward: linear maps, embeddings, norms, activations, dropout,
// feed-forward networks. nn.h states the conventions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "headlight/attention.h"
#include "headlight/context.h"
#include "headlight/parameters.h"
#include "headlight/tensor.h"

#pragma GCC visibility push(default)

namespace headlight::nn {

// ---- Linear, Embedding --------------------------------------------------------------------------------

enum class WeightLayout : std::uint8_t { out_in, in_out };  // only GPT-2 stores [in, out]
// own: parameters are trainable tensors. stored: matrices are set later, in the precision of their file
// (Parameter::stored); such a layer allocates no memory for them and has no backward pass.
enum class Weights : std::uint8_t { own, stored };

struct LinearConfig {
  Index in = 0, out = 0;
  bool bias = true;
  WeightLayout layout = WeightLayout::out_in;
  Weights weights = Weights::own;
};

// A low-rank correction of a frozen matrix (LoRA, Hu et al. 2021): y += scale·(x·Aᵀ)·Bᵀ.
struct LowRank {
  Parameter a, b;  // [rank, in], [out, rank], whatever the layout of the matrix
  double scale = 1;
  [[nodiscard]] bool empty() const noexcept { return a.empty(); }
  [[nodiscard]] Index rank() const { return a.empty() ? 0 : a.value.dim(0); }
};

// y = x·Wᵀ + b, plus the adapter. Parameters that are not trained (Parameter::trained) get no gradients.
class Linear {
 public:
  Linear() = default;  // empty: to be assigned
  Linear(const std::string& name, const LinearConfig& config, DType dtype = DType::f32);

  [[nodiscard]] Tensor forward(Context& ctx, ConstTensorView x) const;
  void forward(Context& ctx, ConstTensorView x, TensorView y) const;  // y may be columns of a wider matrix
  // Several layers on the same x: one call uses the threads better.
  struct Target {
    const Linear& linear;
    TensorRef y;
  };
  static void forward_all(Context& ctx, ConstTensorView x, std::span<const Target> targets);
  [[nodiscard]] Tensor backward(Context& ctx, ConstTensorView x, ConstTensorView dy);
  enum class Write : std::uint8_t { set, add };
  // The same, into dx, or added to it; an empty dx is not computed.
  void backward(Context& ctx, ConstTensorView x, ConstTensorView dy, TensorView dx, Write write = Write::set);
  // The parts of backward, for callers that know more about dy.
  void backward_input(Context& ctx, ConstTensorView dy, TensorView dx, Write write = Write::set) const;
  void backward_weight(Context& ctx, ConstTensorView x, ConstTensorView dy);
  void backward_bias(Context& ctx, ConstTensorView dy);

  // Adds an adapter of zeros. Throws Error{usage} for a rank below 1.
  void adapt(Index rank, double scale);
  // Merges the adapter into the matrix, which must be an owned tensor, and removes it.
  void merge_adapter(Context& ctx);

  [[nodiscard]] bool empty() const noexcept { return weight.empty(); }
  [[nodiscard]] const LinearConfig& config() const noexcept { return config_; }
  void collect(Parameters& list);

  Parameter weight, bias;
  LowRank adapter;  // empty: none

 private:
  LinearConfig config_;
};

// Rows of a table by index.
class Embedding {
 public:
  Embedding() = default;
  Embedding(const std::string& name, Index rows, Index width, DType dtype = DType::f32,
            Weights weights = Weights::own);

  // y = factor · rows, or y += rows. An index outside the table is Error{input}.
  void forward(Context& ctx, std::span<const std::int32_t> ids, TensorView y, double factor = 1) const;
  void forward_add(Context& ctx, std::span<const std::int32_t> ids, TensorView y) const;
  // Row `fixed` is not trained.
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
  bool bias = true;              // only layer norms have one
  bool weight_plus_one = false;  // Gemma stores its parameters minus one
  bool weighted = true;          // false: no parameters
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
  // dx, plus `add` unless that is empty: the gradient of the residual connection.
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

// y = add + dropout(x). The dropped elements depend only on (seed, layer, row, column), so the backward pass is
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
  bool gate_pairs = false;  // if packed: the columns of gate and up alternate
  // GPT-OSS: (up + 1)·gate·sigmoid(1.702·gate), with gate and up clamped to this limit; 0: the usual gate.
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

  Linear gate, up, down;  // no `gate` unless gated; if packed, `up` holds both

 private:
  void open_gate(Context& ctx, Tensor& wide, TensorView active) const;
  void open_gate_backward(Context& ctx, ConstTensorView wide, ConstTensorView dactive, Tensor& dwide) const;
  FeedForwardConfig config_;
};

}  // namespace headlight::nn

#pragma GCC visibility pop
