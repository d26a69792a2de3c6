// The effect of a change to a model's heads on its predictions: probabilities, ranks, KL divergence, loss.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headlight/effects.h"
#include "inspect/model_run.h"

namespace headlight::inspect {

// Predictions of one run, as log probabilities.
class Predictions {
 public:
  explicit Predictions(const Tensor& logits);  // [row, vocabulary]
  [[nodiscard]] Index rows() const noexcept { return rows_; }
  [[nodiscard]] Index vocabulary() const noexcept { return vocabulary_; }
  [[nodiscard]] double logit(Index row, std::int32_t token) const;
  [[nodiscard]] double log_probability(Index row, std::int32_t token) const {
    return logit(row, token) - norm_[static_cast<std::size_t>(row)];
  }
  // From 1 for the most likely; ties: the lower id first.
  [[nodiscard]] Index rank(Index row, std::int32_t token) const;
  [[nodiscard]] std::vector<std::int32_t> likeliest(Index row, Index count) const;

 private:
  [[nodiscard]] std::span<const float> row(Index row) const;
  Index rows_, vocabulary_;
  std::vector<float> logits_;
  std::vector<double> norm_;  // log of the sum of exponentials of each row
};

// Σ p·log(p/q) over the vocabulary, nats: how far the changed predictions q are from p.
[[nodiscard]] double kl_divergence(const Predictions& before, const Predictions& after, Index row);

// The token that each row should predict, or models::kIgnored: the next token for decoders, the token written for
// encoder-decoders, none for encoders.
[[nodiscard]] std::vector<std::int32_t> targets_of(const LoadedModel& loaded, const ModelInput& input);

// Mean of -log p over the rows with a target; 0 if there is none.
[[nodiscard]] double loss_of(const Predictions& predictions, const std::vector<std::int32_t>& targets);

using headlight::TokenEffect;

struct Effect {
  std::vector<double> kl;  // of every row, in nats
  double mean_kl = 0;
  Index row = 0;                    // the row of `tokens`
  std::vector<TokenEffect> tokens;  // the most likely tokens before and after, by probability before
  double loss_before = 0, loss_after = 0;
};

struct EffectOptions {
  Index row = -1;                       // -1: where it changes most
  Index top = 5;                        // number of most likely tokens, before and after
  std::vector<std::int32_t> also = {};  // tokens to include in any case
};
[[nodiscard]] Effect effect_of(const Predictions& before, const Predictions& after,
                               const std::vector<std::int32_t>& targets, const EffectOptions& options);

}  // namespace headlight::inspect
