// The layers of a transformer, forward and backward.
//
// Tokens are the rows of one matrix [token, width], sequences one after another without padding; only attention
// and positions depend on where a sequence starts. Activations have the dtype of the parameters: f32, or f64 for
// gradient checks.
//
// `Saved` holds what a layer keeps from a forward pass and is owned by the caller: inference passes none, training one
// per layer. Inputs are not copied into it: backward takes the same x as forward. backward returns the
// gradient of x and adds to the gradients of the parameters, which it creates (as zeros) if they do not
// exist yet. Results have the same bits for any number of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "headlight/attention_layers.h"
#include "headlight/context.h"
#include "headlight/experts.h"
#include "headlight/layers.h"
#include "headlight/parameters.h"
#include "headlight/tensor.h"

#pragma GCC visibility push(default)

namespace headlight::nn {

// ---- Blocks -------------------------------------------------------------------------------------------

// before: x + f(norm(x)).  after: norm(x + f(x)), the 2017 order.  both: x + norm(f(norm(x))).  output: x + norm(f(x)).
enum class NormPlace : std::uint8_t { before, after, both, output };
// parallel: x + attention(norm(x)) + feed_forward(norm(x)), with one norm or two.
enum class BlockShape : std::uint8_t { serial, parallel, parallel_one_norm };

struct BlockConfig {
  MultiHeadAttentionConfig attention;
  std::optional<MultiHeadAttentionConfig> cross = std::nullopt;
  FeedForwardConfig feed_forward;  // or that of each expert
  std::optional<ExpertsConfig> experts = std::nullopt;
  NormConfig norm;
  NormPlace norm_place = NormPlace::before;
  bool attention_normed = true;  // false: attention reads the residual stream without a norm
  BlockShape shape = BlockShape::serial;
  double residual_scale = 1;  // of what attention and feed-forward add to the residual stream
  double dropout = 0;         // of the outputs of attention and feed-forward
  // false: a step's output replaces the stream, as in a stack without residual connections. Serial blocks with norms
  // before, and no cross-attention.
  bool residual = true;
};

struct BlockCall {
  AttentionCall self = {}, cross = {};
  std::uint64_t dropout_seed = 0;  // 0: no dropout
};

class Block {
 public:
  // One of the two or three sublayers: attention, cross-attention, feed-forward.
  struct StepSaved {
    Tensor normed;     // input of the sublayer, if a norm precedes it
    Norm::Saved norm;  // of the norm before it, or after its sum
    Tensor sum;        // stream + sublayer, before a norm that may follow
    Tensor branch;     // output of the sublayer, if its own norm follows
    Norm::Saved post_norm;
  };
  struct Saved {
    StepSaved attention_step, cross_step, feed_forward_step;
    Tensor after_attention, after_cross;  // NormPlace::after: input of the next sublayer
    MultiHeadAttention::Saved attention, cross;
    FeedForward::Saved feed_forward;
    Experts::Saved experts;
  };

  Block() = default;
  Block(const std::string& name, const BlockConfig& config, DType dtype = DType::f32);
  [[nodiscard]] Tensor forward(Context& ctx, ConstTensorView x, const BlockCall& call,
                               Saved* saved = nullptr) const;
  // dy is overwritten. Adds to dmemory; writes dbias.
  [[nodiscard]] Tensor backward(Context& ctx, ConstTensorView x, const BlockCall& call, const Saved& saved,
                                Tensor dy, TensorView dmemory = {}, TensorView dbias = {});
  void collect(Parameters& list);
  [[nodiscard]] const BlockConfig& config() const noexcept { return config_; }

  MultiHeadAttention attention, cross;
  FeedForward feed_forward;
  Experts experts;                                     // instead of feed_forward
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
  double label_smoothing = 0;   // this share of each target is spread evenly over all classes
  double softcap = 0;           // cap·tanh(logit/cap) first; 0: none
  std::int32_t ignored = -100;  // a target that does not count
  bool gradient = true;         // the logits are replaced by their gradient; false: unchanged
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
