#include "inspect/effect.h"

#include <algorithm>
#include <cmath>

#include "core/concat.h"
#include "headlight/error.h"
#include "inspect/predict.h"

namespace headlight::inspect {

Predictions::Predictions(const Tensor& logits) : rows_(logits.dim(0)), vocabulary_(logits.dim(1)) {
  logits_.reserve(static_cast<std::size_t>(rows_ * vocabulary_));
  for (Index r = 0; r < rows_; ++r) {
    for (Index v = 0; v < vocabulary_; ++v) logits_.push_back(static_cast<float>(logits.at(r, v)));
    norm_.push_back(log_sum_exp(row(r)));
    if (!std::isfinite(norm_.back()))
      throw Error(ErrorKind::numeric, "effect.logits",
                  concat("the model's logits of row ", r,
                         " contain NaN or infinity; are the model's files damaged?"));
  }
}

double Predictions::logit(Index row, std::int32_t token) const {
  return double{logits_[static_cast<std::size_t>(row * vocabulary_ + token)]};
}

std::span<const float> Predictions::row(Index row) const {
  return std::span(logits_).subspan(static_cast<std::size_t>(row * vocabulary_),
                                    static_cast<std::size_t>(vocabulary_));
}

Index Predictions::rank(Index row, std::int32_t token) const { return rank_of(this->row(row), token); }

std::vector<std::int32_t> Predictions::likeliest(Index row, Index count) const {
  return inspect::likeliest(this->row(row), count);
}

double kl_divergence(const Predictions& before, const Predictions& after, Index row) {
  double sum = 0;
  for (Index v = 0; v < before.vocabulary(); ++v) {
    const auto token = static_cast<std::int32_t>(v);
    const double p = before.log_probability(row, token);
    sum += std::exp(p) * (p - after.log_probability(row, token));
  }
  return std::max(0.0, sum);  // rounding can make it slightly negative
}

std::vector<std::int32_t> targets_of(const LoadedModel& loaded, const ModelInput& input) {
  const models::ModelKind kind = loaded.model->config().kind;
  if (!input.written.tokens.empty()) return input.written.ids();
  const bool translates = kind == models::ModelKind::encoder_decoder;
  const std::vector<EncodedToken>& tokens = (translates ? input.decoder_input : input.source).tokens;
  std::vector<std::int32_t> targets(tokens.size(), models::kIgnored);
  if (kind == models::ModelKind::encoder) return targets;
  for (std::size_t i = 0; i + 1 < targets.size(); ++i) targets[i] = tokens[i + 1].id;
  return targets;
}

double loss_of(const Predictions& predictions, const std::vector<std::int32_t>& targets) {
  double sum = 0, count = 0;
  for (std::size_t r = 0; r < targets.size(); ++r) {
    if (targets[r] == models::kIgnored) continue;
    sum -= predictions.log_probability(static_cast<Index>(r), targets[r]);
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

Effect effect_of(const Predictions& before, const Predictions& after,
                 const std::vector<std::int32_t>& targets, const EffectOptions& options) {
  Effect effect;
  for (Index r = 0; r < before.rows(); ++r) {
    effect.kl.push_back(kl_divergence(before, after, r));
    effect.mean_kl += effect.kl.back() / static_cast<double>(before.rows());
  }
  effect.row = options.row;
  if (effect.row < 0) effect.row = std::max_element(effect.kl.begin(), effect.kl.end()) - effect.kl.begin();
  effect.loss_before = loss_of(before, targets);
  effect.loss_after = loss_of(after, targets);
  std::vector<std::int32_t> shown = before.likeliest(effect.row, options.top);
  const std::vector<std::int32_t> next = after.likeliest(effect.row, options.top);
  shown.insert(shown.end(), next.begin(), next.end());
  shown.insert(shown.end(), options.also.begin(), options.also.end());
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::int32_t token = shown[i];
    if (std::find(shown.begin(), shown.begin() + static_cast<std::ptrdiff_t>(i), token) !=
        shown.begin() + static_cast<std::ptrdiff_t>(i))
      continue;
    effect.tokens.push_back({token, std::exp(before.log_probability(effect.row, token)),
                             std::exp(after.log_probability(effect.row, token)),
                             before.logit(effect.row, token), after.logit(effect.row, token),
                             before.rank(effect.row, token), after.rank(effect.row, token)});
  }
  std::stable_sort(effect.tokens.begin(), effect.tokens.end(),
                   [](const TokenEffect& a, const TokenEffect& b) { return a.before > b.before; });
  return effect;
}

}  // namespace headlight::inspect
