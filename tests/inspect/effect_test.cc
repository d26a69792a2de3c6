// Probabilities, ranks, divergences and losses, by hand.
#include "inspect/effect.h"

#include <gtest/gtest.h>

#include <cmath>

#include "inspect/sweep.h"
#include "support/errors.h"
#include "support/small_models.h"

namespace headlight::inspect {
namespace {

Tensor logits(std::initializer_list<double> values, Index columns) {
  const std::vector<double> list(values);
  return Tensor::from(list, {static_cast<Index>(list.size()) / columns, columns});
}

TEST(Effect, ProbabilitiesRanksAndDivergence) {
  const double ln3 = std::log(3.0);
  const Predictions before(logits({ln3, 0, 0, 1, 1, 1}, 3)), after(logits({0, ln3, 0, 1, 1, 1}, 3));
  EXPECT_NEAR(std::exp(before.log_probability(0, 0)), 0.6, 1e-7);
  EXPECT_EQ(before.rank(0, 0), 1);
  EXPECT_EQ(before.rank(0, 2), 3);  // of equals the lower number comes first
  EXPECT_EQ(before.likeliest(0, 2), (std::vector<std::int32_t>{0, 1}));
  // 0.6·ln(0.6/0.2) + 0.2·ln(0.2/0.6)
  EXPECT_NEAR(kl_divergence(before, after, 0), 0.4 * ln3, 1e-7);
  EXPECT_EQ(kl_divergence(before, after, 1), 0);
  EXPECT_EQ(kl_divergence(before, before, 0), 0);

  const Effect effect = effect_of(before, after, {1, models::kIgnored}, {.top = 1, .also = {2}});
  EXPECT_EQ(effect.row, 0);
  EXPECT_NEAR(effect.mean_kl, 0.2 * ln3, 1e-7);
  EXPECT_NEAR(effect.loss_before, -std::log(0.2), 1e-7);
  EXPECT_NEAR(effect.loss_after, -std::log(0.6), 1e-7);
  ASSERT_EQ(effect.tokens.size(), 3U);
  EXPECT_EQ(effect.tokens[0].token, 0);
  EXPECT_EQ(effect.tokens[0].rank_after, 2);
  EXPECT_NEAR(effect.tokens[0].logit_after - effect.tokens[0].logit_before, -ln3, 1e-6);
  EXPECT_EQ(effect.tokens[2].token, 2);
}

TEST(Effect, RefusesWhatIsNoNumber) {
  testing::expect_error(
      [] {
        Predictions p(logits({NAN, 1}, 2));
      },
      ErrorKind::numeric, "effect.logits", "row 0 contain NaN");
}

class EffectOnModels : public ::testing::Test {
 protected:
  LoadedModel open(testing::SmallKind kind) {
    testing::write_small_model(folder_.root().string(), kind);
    return open_model(folder_.root().string(), {});
  }
  testing::TempFolder folder_;
  Context ctx_{{.threads = 2}};
};

TEST_F(EffectOnModels, LossOfATextInWindows) {
  const LoadedModel loaded = open(testing::SmallKind::decoder);
  std::string text;
  for (int i = 0; i < 60; ++i) text += "the cat sat on the mat . ";
  const LossTask task = text_task(loaded, text, 0);
  EXPECT_EQ(task.targets, 60 * 7 + 2 - 1);  // with what the tokenizer puts around it
  EXPECT_EQ(task.parts.size(), 1U);
  EXPECT_EQ(task.parts[0].input.sequences(), 11);  // of 40 tokens each
  const MeasuredLoss whole = measure_loss(ctx_, loaded, task);
  EXPECT_EQ(whole.targets, task.targets);
  Ablation ablation({.part = Part::decoder, .heads = {{0, 0}}});
  EXPECT_NE(measure_loss(ctx_, loaded, task, &ablation).mean, whole.mean);
  EXPECT_EQ(text_task(loaded, text, 12).targets, 11);
  testing::expect_error([&] { (void)pair_task(loaded, {}); }, ErrorKind::usage, "loss.model",
                        "is not an encoder-decoder");
}

TEST_F(EffectOnModels, LossOfPairs) {
  const LoadedModel loaded = open(testing::SmallKind::translator);
  const std::vector<TextPair> pairs = {{"the cat sat", "the mat"}, {"it was too tired", "the street ."}};
  const LossTask task = pair_task(loaded, pairs);
  EXPECT_EQ(task.parts[0].source.sequences(), 2);
  const ModelInput one{.source = read_text(*loaded.tokenizer, pairs[0].first),
                       .written = read_text(*loaded.tokenizer, pairs[0].second)};
  const double by_hand = loss_of(Predictions(run(ctx_, loaded, one)), targets_of(loaded, one));
  EXPECT_NEAR(measure_loss(ctx_, loaded, pair_task(loaded, std::span(pairs).first(1))).mean, by_hand, 1e-5);
  testing::expect_error([&] { (void)text_task(loaded, "the cat", 0); }, ErrorKind::usage, "loss.model",
                        "is not a decoder");
}

TEST_F(EffectOnModels, ASweepIsOneAblationAfterTheOther) {
  const LoadedModel loaded = open(testing::SmallKind::translator);
  const ModelInput input{.source = read_text(*loaded.tokenizer, "the cat sat"),
                         .written = read_text(*loaded.tokenizer, "the mat")};
  double told = 0;
  const std::vector<SweptHead> swept = sweep_heads(
      ctx_, loaded, input, {.parts = {Part::encoder, Part::decoder, Part::cross}, .row = 1, .token = 5},
      [&](double done) { told = done; });
  EXPECT_EQ(told, 1);
  ASSERT_EQ(swept.size(), 12U);
  const Predictions before(run(ctx_, loaded, input));
  Ablation ablation({.part = Part::cross, .heads = {{1, 0}}});
  const Predictions after(run(ctx_, loaded, input, &ablation));
  const SweptHead& one = swept[10];
  EXPECT_EQ(one.part, Part::cross);
  EXPECT_EQ(one.head, (HeadPlace{1, 0}));
  EXPECT_EQ(one.kl, kl_divergence(before, after, 1));
  EXPECT_EQ(one.log_probability, after.log_probability(1, 5) - before.log_probability(1, 5));
  EXPECT_TRUE(one.direct.has_value());
  EXPECT_FALSE(swept[0].direct.has_value());  // the encoder has no direct way to the logits
}

TEST(EffectError, OfADifferenceOverParts) {
  const MeasuredLoss a{.mean = 1, .parts = {1, 2, 3}}, b{.mean = 2, .parts = {2, 4, 6}};
  EXPECT_NEAR(error_of_difference(a, b), std::sqrt(1.0 / 3), 1e-12);
  EXPECT_EQ(error_of_difference({.parts = {1}}, {.parts = {2}}), 0);
}

}  // namespace
}  // namespace headlight::inspect
