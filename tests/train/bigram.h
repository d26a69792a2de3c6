// The smallest model there is: a table of logits, token by next token. It lets the trainer be tested without a
// transformer.
#pragma once

#include <cmath>
#include <vector>

#include "headlight/error.h"
#include "models/trainable.h"
#include "train/dice.h"

namespace headlight::testing {

class Bigram : public models::Trainable {
 public:
  explicit Bigram(Index vocabulary) : vocabulary_(vocabulary) {
    table_.name = "table.weight";
    table_.value = Tensor({vocabulary, vocabulary});
    bias_.name = "bias";
    bias_.value = Tensor({vocabulary});
    bias_.decays = false;
    fixed_.name = "fixed";
    fixed_.value = Tensor({3});
    fixed_.trained = false;
  }

  Parameters parameters() override { return {&table_, &bias_, &fixed_}; }

  models::Loss learn(Context& ctx, const models::Batch& batch, const models::LearnOptions& options) override {
    (void)ctx;
    dropout_seeds.push_back(options.dropout_seed);
    return pass(batch, options.scale, &table_, &bias_);
  }
  models::Loss evaluate(Context& ctx, const models::Batch& batch) const override {
    (void)ctx;
    if (evaluation_fails) throw Error(ErrorKind::input, "model.length", "an evaluation that fails");
    return pass(batch, 0, nullptr, nullptr);
  }
  double flops(const models::Batch& batch) const override {
    return 6.0 * static_cast<double>(batch.input.size() * vocabulary_);
  }
  std::string config_json() const override { return "{\"model_type\": \"bigram\"}\n"; }
  void initialize(std::uint64_t seed) override {
    train::Dice dice(seed, train::Purpose::parameters, 0);
    for (Index i = 0; i < vocabulary_ * vocabulary_; ++i)
      table_.value.as<float>()[i] = static_cast<float>(0.02 * (dice.uniform() - 0.5));
  }

  std::vector<std::uint64_t> dropout_seeds;
  bool evaluation_fails = false;
  double break_after = 0;  // learn() calls until the loss becomes NaN; 0: never

 private:
  models::Loss pass(const models::Batch& batch, double scale, Parameter* table, Parameter* bias) const {
    models::Loss loss;
    std::vector<double> p(static_cast<std::size_t>(vocabulary_));
    for (std::size_t i = 0; i < batch.targets.size(); ++i) {
      if (batch.targets[i] == models::kIgnored) continue;
      const float* row = table_.value.as<float>() + batch.input.ids[i] * vocabulary_;
      double top = -INFINITY, sum = 0;
      Index best = 0;
      for (Index j = 0; j < vocabulary_; ++j) {
        p[static_cast<std::size_t>(j)] = row[j] + bias_.value.as<float>()[j];
        if (p[static_cast<std::size_t>(j)] > top) top = p[static_cast<std::size_t>(j)], best = j;
      }
      for (double& x : p) sum += x = std::exp(x - top);
      const auto target = static_cast<std::size_t>(batch.targets[i]);
      loss.plain -= std::log(p[target] / sum);
      loss.correct += best == batch.targets[i] ? 1 : 0;
      ++loss.targets;
      if (table == nullptr) continue;
      for (Index j = 0; j < vocabulary_; ++j) {
        const auto k = static_cast<std::size_t>(j);
        const auto d = static_cast<float>(scale * (p[k] / sum - (k == target ? 1 : 0)));
        table->grad.as<float>()[batch.input.ids[i] * vocabulary_ + j] += d;
        bias->grad.as<float>()[j] += d;
      }
    }
    loss.sum = loss.plain;
    if (table != nullptr && break_after > 0 && static_cast<double>(dropout_seeds.size()) >= break_after)
      loss.sum = NAN;
    return loss;
  }

  Index vocabulary_;
  Parameter table_, bias_, fixed_;
};

}  // namespace headlight::testing
