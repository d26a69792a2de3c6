// Loss per byte, against sums over the logits themselves.
#include "models/text_loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/errors.h"
#include "text/train.h"

namespace headlight::models {
namespace {

using headlight::testing::expect_error;

Tokenizer bytes() {
  text::TokenizerTraining training;
  training.kind = text::TokenizerKind::bytes;
  training.vocab = 257;
  training.special = {"<|endoftext|>"};
  return text::train_tokenizer(
      [done = false](std::string& to) mutable {
        to.assign(1, 'a');
        return !std::exchange(done, true);
      },
      training);
}

class TextLosses : public ::testing::Test {
 protected:
  TextLosses() : model_(config()) { model_.initialize(3); }
  static TransformerConfig config() {
    TransformerConfig c =
        llama_config({.vocabulary = 257, .width = 16, .layers = 1, .heads = 2, .context = 8});
    c.ends = {0};
    c.initial_range = 0.5;
    return c;
  }
  // -log p of ids[at] after ids[first … at-1].
  double surprise(const std::vector<std::int32_t>& ids, std::size_t first, std::size_t at) {
    Tokens tokens;
    tokens.append(std::span(ids).subspan(first, at - first));
    const Tensor logits = model_.logits(ctx_, tokens);
    const Index row = logits.dim(0) - 1;
    double sum = 0;
    for (Index i = 0; i < logits.dim(1); ++i) sum += std::exp(logits.at(row, i));
    return std::log(sum) - logits.at(row, ids[at]);
  }
  std::vector<std::int32_t> ids_of(const std::string& text) const {
    std::vector<std::int32_t> ids = tokenizer_.encode(text);
    ids.insert(ids.begin(), 0);
    return ids;
  }
  Context ctx_{{.threads = 1}};
  Tokenizer tokenizer_ = bytes();
  Transformer model_;
};

TEST_F(TextLosses, IsTheSurpriseOfEveryToken) {
  const std::vector<std::string> documents = {"Hello", "é?"};
  double sum = 0;
  for (const std::string& text : documents) {
    const auto ids = ids_of(text);
    for (std::size_t at = 1; at < ids.size(); ++at) sum += surprise(ids, 0, at);
  }
  const TextLoss loss = *text_loss(ctx_, model_, tokenizer_, documents);
  EXPECT_NEAR(loss.nats, sum, 1e-4);
  EXPECT_EQ(loss.tokens, 8);
  EXPECT_EQ(loss.bytes, 8);
  EXPECT_EQ(loss.documents, 2);
  EXPECT_NEAR(loss.per_byte(), sum / 8, 1e-5);
  EXPECT_NEAR(loss.bits_per_byte(), sum / 8 / std::log(2.0), 1e-5);
}

// Windows of 8 inputs that begin every 4: a token's guess looks back to the start of the window that asks for it first.
TEST_F(TextLosses, LongTextsAreReadInWindowsThatOverlap) {
  const auto ids = ids_of("abcdefghijklmnopqrstu");
  double sum = 0;
  for (std::size_t at = 1; at < ids.size(); ++at) sum += surprise(ids, at <= 8 ? 0 : (at - 5) / 4 * 4, at);
  const std::vector<std::string> documents = {"abcdefghijklmnopqrstu"};
  const TextLoss loss = *text_loss(ctx_, model_, tokenizer_, documents, {.context = 8});
  EXPECT_EQ(loss.tokens, 21);
  EXPECT_NEAR(loss.nats, sum, 1e-3);
}

// One document alone, as a book without separators is: told of while it is read, and stopped inside it.
TEST_F(TextLosses, ALongDocumentShowsProgressAndStopsInside) {
  const std::vector<std::string> documents = {std::string(20'000, 'a')};
  std::vector<double> told;
  const auto note = [&](double done) {
    told.push_back(done);
    return true;
  };
  ASSERT_TRUE(text_loss(ctx_, model_, tokenizer_, documents, {.on_progress = note}));
  ASSERT_GT(told.size(), 5U);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_LT(told.front(), 0.2);
  EXPECT_EQ(told.back(), 1);
  const std::size_t all = told.size();
  told.clear();
  const auto stop = [&](double done) { return note(done) && done < 0.5; };
  EXPECT_FALSE(text_loss(ctx_, model_, tokenizer_, documents, {.on_progress = stop}));
  EXPECT_LT(told.size(), all);
}

TEST_F(TextLosses, StopsAndRefuses) {
  const std::vector<std::string> documents = {"one", "two", "three"};
  EXPECT_FALSE(text_loss(ctx_, model_, tokenizer_, documents, {.on_progress = [](double) { return false; }}));
  const Transformer encoder(
      bert_config({.vocabulary = 257, .width = 16, .layers = 1, .heads = 2, .context = 8}));
  expect_error([&] { (void)text_loss(ctx_, encoder, tokenizer_, documents); }, ErrorKind::usage,
               "evaluate.kind", "does not predict the next token");
}

}  // namespace
}  // namespace headlight::models
