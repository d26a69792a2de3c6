// Each rule of sampling on logits made by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "models/generate.h"
#include "support/errors.h"

namespace headlight::models {
namespace {

using headlight::testing::expect_error;

// The tokens that ever come up in many draws.
std::set<std::int32_t> drawn(const std::vector<double>& logits, SamplingOptions options,
                             std::span<const std::int32_t> seen = {}) {
  const Tensor row = Tensor::from(logits, {static_cast<Index>(logits.size())});
  std::set<std::int32_t> found;
  if (options.temperature == 0) options.temperature = 1;
  for (Index place = 0; place < 2000; ++place) found.insert(choose_token(row, options, 0, place, seen));
  return found;
}

// Probabilities 0.5, 0.25, 0.15, 0.1 of tokens 2, 0, 3, 1.
const std::vector<double> kLogits = {std::log(0.25), std::log(0.1), std::log(0.5), std::log(0.15)};
using Set = std::set<std::int32_t>;

TEST(SamplingRules, TopK) {
  EXPECT_EQ(drawn(kLogits, {}), (Set{0, 1, 2, 3}));
  EXPECT_EQ(drawn(kLogits, {.top_k = 1}), (Set{2}));
  EXPECT_EQ(drawn(kLogits, {.top_k = 2}), (Set{0, 2}));
  EXPECT_EQ(drawn(kLogits, {.top_k = 99}), (Set{0, 1, 2, 3}));
  EXPECT_EQ(drawn({1, 1, 1}, {.top_k = 2}), (Set{0, 1}));  // of equal ones the first
}

TEST(SamplingRules, TopP) {
  EXPECT_EQ(drawn(kLogits, {.top_p = 0.4}), (Set{2}));
  EXPECT_EQ(drawn(kLogits, {.top_p = 0.6}), (Set{0, 2}));
  EXPECT_EQ(drawn(kLogits, {.top_p = 0.8}), (Set{0, 2, 3}));
  // After top_k the shares are those of what is left: 2 has 2/3 of {2, 0}.
  EXPECT_EQ(drawn(kLogits, {.top_k = 2, .top_p = 0.6}), (Set{2}));
}

TEST(SamplingRules, MinP) {
  EXPECT_EQ(drawn(kLogits, {.min_p = 0.45}), (Set{0, 2}));  // at least 0.225
  EXPECT_EQ(drawn(kLogits, {.min_p = 0.25}), (Set{0, 2, 3}));
  EXPECT_EQ(drawn(kLogits, {.min_p = 1}), (Set{2}));
  // Temperature comes first: at 0.5 probabilities are squared, and 0.25²/0.5² is below 0.45.
  EXPECT_EQ(drawn(kLogits, {.temperature = 0.5, .min_p = 0.45}), (Set{2}));
}

TEST(SamplingRules, Temperature) {
  const Tensor row = Tensor::from(kLogits, {4});
  const auto share = [&](double temperature) {
    int likeliest = 0;
    for (Index place = 0; place < 4000; ++place)
      likeliest += choose_token(row, {.temperature = temperature, .seed = 5}, 0, place) == 2 ? 1 : 0;
    return likeliest / 4000.0;
  };
  EXPECT_NEAR(share(1), 0.5, 0.03);
  const double squares = 0.25 + 0.0625 + 0.0225 + 0.01;
  EXPECT_NEAR(share(0.5), 0.25 / squares, 0.03);
  EXPECT_NEAR(share(100), 0.25, 0.03);
  EXPECT_EQ(choose_token(row, {}, 0, 0), 2);
}

TEST(SamplingRules, RepetitionPenalty) {
  const Tensor row = Tensor::from(std::vector<double>{1.0, 1.8, -0.5}, {3});
  const std::vector<std::int32_t> seen = {1, 1, 1}, all = {0, 1, 2};
  EXPECT_EQ(choose_token(row, {.repetition_penalty = 1.5}, 0, 0, seen), 1);  // 1.2 once, not 1.8 / 1.5³
  EXPECT_EQ(choose_token(row, {.repetition_penalty = 2}, 0, 0, seen), 0);    // 0.9
  EXPECT_EQ(choose_token(row, {.repetition_penalty = 2}, 0, 0, all), 1);     // 0.5, 0.9, -1
  EXPECT_EQ(choose_token(row, {.repetition_penalty = 0.1}, 0, 0, std::span(all).first(1)), 0);
  const Tensor below = Tensor::from(std::vector<double>{-1.0, -0.9}, {2});
  EXPECT_EQ(choose_token(below, {.repetition_penalty = 2}, 0, 0, std::span(seen).first(1)), 0);  // -1.8
}

TEST(SamplingRules, SeedsAndItems) {
  const Tensor row = Tensor::from(kLogits, {4});
  const auto text = [&](std::uint64_t seed, Index item) {
    std::vector<std::int32_t> tokens;
    for (Index place = 0; place < 50; ++place)
      tokens.push_back(choose_token(row, {.temperature = 1, .seed = seed}, item, place));
    return tokens;
  };
  EXPECT_EQ(text(1, 0), text(1, 0));
  EXPECT_NE(text(1, 0), text(2, 0));
  EXPECT_NE(text(1, 0), text(1, 1));
}

TEST(SamplingRules, WhatIsNoNumberIsNeverChosen) {
  EXPECT_EQ(drawn({NAN, 1, -INFINITY, 0}, {}), (Set{1, 3}));
  const Tensor none = Tensor::from(std::vector<double>{NAN, NAN}, {2});
  expect_error([&] { (void)choose_token(none, {}, 0, 0); }, ErrorKind::numeric, "model.logits",
               "are not finite");
}

TEST(SamplingRules, SaysWhatMakesNoSense) {
  const auto refused = [](const SamplingOptions& options, const std::string& words) {
    expect_error([&] { check(options); }, ErrorKind::usage, "model.sampling", words);
  };
  refused({.temperature = -1}, "temperature is -1; need 0 or more");
  refused({.temperature = NAN}, "temperature");
  refused({.top_k = -1}, "top_k is -1");
  refused({.top_p = 0}, "top_p is 0; need above 0 up to 1");
  refused({.top_p = 1.5}, "top_p is 1.5");
  refused({.min_p = -0.1}, "min_p");
  refused({.repetition_penalty = 0}, "repetition penalty is 0");
}

}  // namespace
}  // namespace headlight::models
