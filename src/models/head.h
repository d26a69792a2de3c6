// From the residual stream to the vocabulary: logits, and the loss without storing all logits at once.
#pragma once

#include <span>
#include <vector>

#include "headlight/nn.h"
#include "models/trainable.h"
#include "models/transformer_config.h"

namespace headlight::models {

// Allocates zero gradients for all trained parameters that have none, since a batch may not reach all of them.
void make_grads(const Parameters& parameters);

class Head {
 public:
  Head() = default;
  explicit Head(const TransformerConfig& config);

  // [row, vocabulary]
  [[nodiscard]] Tensor logits(Context& ctx, const nn::Embedding& embedding, ConstTensorView x) const;
  // Loss of the rows whose target counts. With `options`, writes their gradients to dx and adds to those of the
  // parameters.
  [[nodiscard]] Loss evaluate(Context& ctx, const nn::Embedding& embedding, ConstTensorView x,
                              std::span<const std::int32_t> targets) const;
  [[nodiscard]] Loss learn(Context& ctx, nn::Embedding& embedding, ConstTensorView x,
                           std::span<const std::int32_t> targets, const LearnOptions& options, Tensor& dx);
  void collect(Parameters& list);

  nn::Linear transform;  // masked-token heads
  nn::Norm transform_norm;
  nn::Linear narrowing;   // to the width of the table, if that differs
  nn::Linear projection;  // unless tied
  Parameter bias;         // [vocabulary]; Marian stores [1, vocabulary]

 private:
  struct Saved;  // src/models/head.cc
  [[nodiscard]] Tensor prepare(Context& ctx, ConstTensorView x, Saved* saved) const;
  // Whether there are steps before the product with the table.
  [[nodiscard]] bool prepares() const {
    return !transform.empty() || !narrowing.empty() || config_.head.scale != 1;
  }
  [[nodiscard]] const Parameter& table(const nn::Embedding& embedding) const;
  void project(Context& ctx, const nn::Embedding& embedding, ConstTensorView x, TensorView logits) const;
  void project_back(Context& ctx, nn::Embedding& embedding, ConstTensorView x, ConstTensorView dlogits,
                    TensorView dx);
  [[nodiscard]] Index chunk_rows() const;

  TransformerConfig config_;
};

}  // namespace headlight::models
