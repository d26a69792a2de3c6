#include "train/token_splits.h"

#include <gtest/gtest.h>

#include "headlight/error.h"
#include "support/errors.h"
#include "text/train.h"
#include "train/dice.h"
#include "train/translation_task.h"

namespace headlight::train {
namespace {

using Ids = std::vector<TokenId>;
constexpr const char* kText =
    "the animal saw another animal, and the animals ran to the other end of the land";

Tokenizer tokenizer_of(text::TokenizerKind kind) {
  text::TokenizerTraining training;
  training.kind = kind;
  training.vocab = 320;
  return text::train_tokenizer(
      [left = 20](std::string& text) mutable {
        text = kText;
        return left-- > 0;
      },
      training);
}

Ids split(const TokenSplits& splits, const Ids& ids, std::uint64_t seed) {
  train::Dice dice(seed, Purpose::splits, 0);
  Ids out = {-7};
  splits.split(ids, dice, out);
  return out;
}

TEST(TokenSplits, OtherSpellingsOfTheSameText) {
  const Tokenizer tokenizer = tokenizer_of(text::TokenizerKind::bpe);
  const Ids ids = tokenizer.encode(kText, SpecialTokens::leave_out);
  EXPECT_FALSE(TokenSplits().any());
  std::size_t longer = 0;
  for (const double share : {0.1, 0.4, 0.9}) {
    const TokenSplits splits(tokenizer, share);
    EXPECT_TRUE(splits.any());
    std::size_t tokens = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const Ids other = split(splits, ids, seed);
      EXPECT_EQ(tokenizer.decode(other), kText);
      EXPECT_EQ(other, split(splits, ids, seed));
      tokens += other.size();
    }
    EXPECT_GT(tokens, longer) << share;
    longer = tokens;
  }
  EXPECT_GT(longer, 50 * 2 * ids.size());
}

TEST(TokenSplits, TheShareIsOfTokensThatHaveParts) {
  const Tokenizer tokenizer = tokenizer_of(text::TokenizerKind::bpe);
  const TokenId pair = *tokenizer.find("an"), letter = *tokenizer.find("a");
  const TokenSplits splits(tokenizer, 0.25);
  const Ids pairs(4000, pair), letters(100, letter);
  EXPECT_NEAR(static_cast<double>(split(splits, pairs, 1).size()), 5000, 120);
  EXPECT_EQ(split(splits, letters, 1), letters);
}

TEST(TokenSplits, NeedMerges) {
  for (const text::TokenizerKind kind : {text::TokenizerKind::unigram, text::TokenizerKind::characters})
    testing::expect_error([&] { TokenSplits(tokenizer_of(kind), 0.1); }, ErrorKind::input, "data.split",
                          "needs a tokenizer with merges");
}

TEST(TokenSplits, TrainingPairsAreSplitAnewAndEvaluationPairsNever) {
  const Tokenizer tokenizer = tokenizer_of(text::TokenizerKind::bpe);
  const Ids ids = tokenizer.encode(kText, SpecialTokens::leave_out);
  const auto task_with = [&](Index longest) {
    Pairs train, valid;
    for (Pairs* pairs : {&train, &valid}) {
      pairs->source.add(ids);
      pairs->target.add(ids);
    }
    return TranslationTask(std::move(train), std::move(valid),
                           {.begin = 1,
                            .end = 2,
                            .longest = longest,
                            .batch_tokens = 100,
                            .vocabulary = tokenizer.size(),
                            .splits = TokenSplits(tokenizer, 0.5)});
  };
  const TranslationTask task = task_with(1000);
  models::Batch first, second, again;
  task.training_batch(0, first);
  task.training_batch(1, second);
  task.training_batch(0, again);
  EXPECT_EQ(first.targets, again.targets);
  EXPECT_NE(first.targets, second.targets);
  EXPECT_NE(first.source.ids, first.targets);  // each side has its own spelling
  for (const models::Batch* batch : {&first, &second}) {
    EXPECT_EQ(tokenizer.decode(batch->source.ids), kText);
    EXPECT_EQ(tokenizer.decode(batch->targets), kText);
    EXPECT_EQ(batch->input.ids.size(), batch->targets.size());
  }
  Ids whole = ids;
  whole.push_back(2);
  task.evaluation_batch(0, first);
  EXPECT_EQ(first.targets, whole);
  // What would become too long stays as it is.
  task_with(static_cast<Index>(ids.size()) + 1).training_batch(0, first);
  EXPECT_EQ(first.targets, whole);
}

}  // namespace
}  // namespace headlight::train
