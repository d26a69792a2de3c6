#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "headlight/error.h"
#include "support/errors.h"
#include "support/random.h"
#include "train/dice.h"
#include "train/language_task.h"
#include "train/synthetic_task.h"
#include "train/translation_task.h"

namespace headlight::train {
namespace {

using models::Batch;
using models::kIgnored;
using testing::expect_error;

Corpus numbers(Index train, Index valid) {
  std::vector<TokenId> first, second;
  for (Index i = 0; i < train; ++i) first.push_back(static_cast<TokenId>(i));
  for (Index i = 0; i < valid; ++i) second.push_back(static_cast<TokenId>(i));
  return {std::move(first), std::move(second), {}};
}

void expect_whole(const Batch& batch) {
  EXPECT_EQ(batch.targets.size(), batch.input.ids.size());
  EXPECT_EQ(batch.input.starts.back(), batch.input.size());
  EXPECT_TRUE(batch.source.sequences() == 0 || batch.source.sequences() == batch.input.sequences());
}

bool same(const Batch& a, const Batch& b) {
  return a.input.ids == b.input.ids && a.input.starts == b.input.starts && a.source.ids == b.source.ids &&
         a.targets == b.targets;
}

// Asked in any order, by a task that has done nothing else before.
template <class Make>
void expect_pure(const Make& make) {
  const auto first = make(), second = make();
  Batch a, b;
  for (std::int64_t i = 0; i < 20; ++i) first->training_batch(i, a);
  for (const std::int64_t i : {7, 0, 1'000'000'007}) {
    first->training_batch(i, a);
    second->training_batch(i, b);
    expect_whole(a);
    EXPECT_TRUE(same(a, b)) << i;
    second->training_batch(i + 1, b);
    EXPECT_FALSE(same(a, b)) << i;
  }
}

TEST(Dice, AreFairAndPure) {
  std::map<Index, int> counts;
  Dice dice(1, Purpose::batches, 5);
  for (int i = 0; i < 60000; ++i) ++counts[dice.below(6)];
  ASSERT_EQ(counts.size(), 6U);
  for (const auto& [face, count] : counts) EXPECT_NEAR(count, 10000, 500) << face;
  Dice again(1, Purpose::batches, 5), other(1, Purpose::order, 5), next(1, Purpose::batches, 6);
  Dice first(1, Purpose::batches, 5);
  const std::uint32_t word = first.next();
  EXPECT_EQ(again.next(), word);
  EXPECT_NE(other.next(), word);
  EXPECT_NE(next.next(), word);
}

TEST(LanguageTask, PartsAreReadByTheirWeight) {
  Corpus corpus = numbers(1000, 0);
  corpus.parts = {{0, 900, 1}, {900, 1000, 3}};
  const LanguageTask task(corpus, {.context = 10, .rows = 8, .vocabulary = 1000, .seed = 3});
  Batch batch;
  int second = 0;
  for (std::int64_t i = 0; i < 250; ++i) {
    task.training_batch(i, batch);
    for (Index row = 0; row < 8; ++row) {
      const TokenId begin = batch.input.ids[static_cast<std::size_t>(10 * row)];
      EXPECT_TRUE(begin < 890 || begin >= 900) << "a window crosses the end of a part: " << begin;
      second += begin >= 900 ? 1 : 0;
    }
  }
  EXPECT_NEAR(second, 1500, 80);
  corpus.parts = {{0, 990, 1}, {990, 1000, 1}};
  expect_error([&] { LanguageTask(corpus, {.context = 10, .rows = 1, .vocabulary = 1000}); },
               ErrorKind::input, "data.short",
               "a file of the training text has 10 tokens; one window needs 11");
}

TEST(LanguageTask, SomeWindowsRepeatThemselves) {
  const LanguageTask task(
      numbers(1000, 0),
      {.context = 32, .rows = 4, .vocabulary = 1001, .seed = 3, .repeat_share = 0.5, .separator = 1000});
  Batch batch;
  int repeated = 0, text = 0;
  for (std::int64_t i = 0; i < 250; ++i) {
    task.training_batch(i, batch);
    expect_whole(batch);
    for (Index row = 0; row < 4; ++row) {
      const TokenId* window = batch.input.ids.data() + 32 * row;
      const auto separator = std::find(window, window + 32, 1000);
      if (separator == window + 32) {
        for (Index j = 0; j < 32; ++j) ASSERT_EQ(window[j], window[0] + j);
        continue;
      }
      ++repeated;
      text += window[1] == window[0] + 1 && window[2] == window[0] + 2;  // the others are drawn one by one
      const Index period = separator - window + 1;
      EXPECT_GE(period, 7);
      EXPECT_LE(period, 16);
      for (Index j = period; j < 32; ++j) ASSERT_EQ(window[j], window[j - period]);
      // What comes after the window is asked for as well.
      EXPECT_EQ(batch.targets[static_cast<std::size_t>(32 * row + 31)], window[32 % period]);
    }
  }
  EXPECT_NEAR(repeated, 500, 70);
  EXPECT_NEAR(text, repeated / 2, 50);
}

TEST(LanguageTask, WindowsAndTheirTargets) {
  const auto make = [] {
    return std::make_unique<LanguageTask>(
        numbers(1000, 95), WindowConfig{.context = 10, .rows = 4, .vocabulary = 1000, .seed = 3});
  };
  expect_pure(make);
  const auto task = make();
  Batch batch;
  std::set<TokenId> begins;
  for (std::int64_t i = 0; i < 200; ++i) {
    task->training_batch(i, batch);
    ASSERT_EQ(batch.input.sequences(), 4);
    for (Index s = 0; s < 4; ++s) {
      const auto at = static_cast<std::size_t>(s * 10);
      begins.insert(batch.input.ids[at]);
      for (std::size_t k = 0; k < 10; ++k) {
        EXPECT_EQ(batch.input.ids[at + k], batch.input.ids[at] + static_cast<TokenId>(k));
        EXPECT_EQ(batch.targets[at + k], batch.input.ids[at + k] + 1);
      }
    }
  }
  EXPECT_GT(begins.size(), 500U);
  EXPECT_LE(*begins.rbegin(), 989);
  // Evaluation asks for every token but the first, once.
  ASSERT_EQ(task->evaluation_batches(), 3);
  std::vector<std::int32_t> asked;
  for (Index i = 0; i < 3; ++i) {
    task->evaluation_batch(i, batch);
    expect_whole(batch);
    asked.insert(asked.end(), batch.targets.begin(), batch.targets.end());
  }
  std::vector<std::int32_t> all(94);
  std::iota(all.begin(), all.end(), 1);
  EXPECT_EQ(asked, all);
}

TEST(LanguageTask, RefusesTooLittleText) {
  for (const Index size : {0, 1, 10}) {
    expect_error([&] { LanguageTask(numbers(size, 0), {.context = 10, .rows = 1, .vocabulary = 10}); },
                 ErrorKind::input, "data.short", "one window needs 11");
  }
  EXPECT_EQ(LanguageTask(numbers(11, 1), {.context = 10, .rows = 1, .vocabulary = 10}).evaluation_batches(),
            0);
}

TEST(MaskedTask, HidesTheSharesItShould) {
  const WindowConfig windows{.context = 52, .rows = 20, .vocabulary = 5000, .seed = 3};
  const MaskConfig mask{.mask = 4999, .first = 4997, .last = 4998};
  const auto make = [&] { return std::make_unique<MaskedTask>(numbers(4000, 500), windows, mask); };
  expect_pure(make);
  const auto task = make();
  Batch batch;
  double asked = 0, masked = 0, kept = 0, total = 0;
  for (std::int64_t i = 0; i < 50; ++i) {
    task->training_batch(i, batch);
    for (std::size_t k = 0; k < batch.targets.size(); ++k) {
      const bool first = k % 52 == 0, last = k % 52 == 51;
      EXPECT_EQ(batch.input.ids[k] == 4997, first);
      EXPECT_EQ(batch.input.ids[k] == 4998, last);
      EXPECT_TRUE((!first && !last) || batch.targets[k] == kIgnored);
      ++total;
      if (batch.targets[k] == kIgnored) continue;
      ++asked;
      masked += batch.input.ids[k] == 4999 ? 1 : 0;
      kept += batch.input.ids[k] == batch.targets[k] ? 1 : 0;
    }
  }
  EXPECT_NEAR(asked / total, 0.15 * 50 / 52, 0.005);
  EXPECT_NEAR(masked / asked, 0.8, 0.02);
  EXPECT_NEAR(kept / asked, 0.1, 0.015);
  Batch again;
  task->evaluation_batch(0, batch);
  make()->evaluation_batch(0, again);
  EXPECT_TRUE(same(batch, again));
}

Pairs random_pairs(int count, std::uint64_t seed) {
  testing::Random random(seed);
  Pairs pairs;
  for (int i = 0; i < count; ++i) {
    std::vector<TokenId> source(static_cast<std::size_t>(1 + random.below(30)), 10 + i),
        target(static_cast<std::size_t>(1 + random.below(30)), 10 + i);
    pairs.source.add(source);
    pairs.target.add(target);
  }
  return pairs;
}

TEST(TranslationTask, EveryPairOncePerEpochInBatchesOfOneSize) {
  const TranslationConfig config{
      .begin = 0, .end = 1, .longest = 26, .batch_tokens = 400, .vocabulary = 5000, .seed = 9};
  const auto make = [&] {
    return std::make_unique<TranslationTask>(random_pairs(3000, 1), random_pairs(100, 2), config);
  };
  expect_pure(make);
  const auto task = make();
  const Index per_epoch = task->batches_per_epoch();
  EXPECT_DOUBLE_EQ(task->epochs(per_epoch * 3), 3);
  Batch batch;
  std::vector<std::vector<TokenId>> epochs;
  for (const std::int64_t epoch : {0, 1}) {
    std::vector<TokenId> seen;
    for (std::int64_t i = 0; i < per_epoch; ++i) {
      task->training_batch(epoch * per_epoch + i, batch);
      expect_whole(batch);
      EXPECT_NEAR(static_cast<double>(batch.source.size() + batch.input.size()), 400, 62);
      Index shortest = 100, longest = 0;
      for (Index s = 0; s < batch.input.sequences(); ++s) {
        const auto which = static_cast<std::size_t>(s);
        const auto begin = static_cast<std::size_t>(batch.input.starts[which]),
                   end = static_cast<std::size_t>(batch.input.starts[which + 1]);
        const auto source_end = static_cast<std::size_t>(batch.source.starts[which + 1]);
        EXPECT_EQ(batch.input.ids[begin], 0);
        EXPECT_EQ(batch.targets[end - 1], 1);
        EXPECT_EQ(batch.source.ids[source_end - 1], 1);
        EXPECT_EQ(batch.targets[begin], batch.input.ids[begin + 1]);
        seen.push_back(batch.input.ids[begin + 1]);
        EXPECT_EQ(batch.source.ids[source_end - 2], seen.back());
        const Index length = std::max(static_cast<Index>(end - begin),
                                      batch.source.starts[which + 1] - batch.source.starts[which]);
        shortest = std::min(shortest, length);
        longest = std::max(longest, length);
      }
      EXPECT_LE(longest, 26);
      EXPECT_LE(longest - shortest, 6);
    }
    epochs.push_back(seen);
    std::set<TokenId> once(seen.begin(), seen.end());
    EXPECT_EQ(once.size(), seen.size());
  }
  EXPECT_NE(epochs[0], epochs[1]);
  std::sort(epochs[0].begin(), epochs[0].end());
  std::sort(epochs[1].begin(), epochs[1].end());
  EXPECT_EQ(epochs[0], epochs[1]);
  Index evaluated = 0;
  for (Index i = 0; i < task->evaluation_batches(); ++i) {
    task->evaluation_batch(i, batch);
    evaluated += batch.input.sequences();
  }
  EXPECT_EQ(evaluated, 76);  // the other 24 of 100 do not fit
}

// What the model has no positions for is left out, of the evaluation too, and counted.
TEST(TranslationTask, EvaluationPairsFitTheModel) {
  const TranslationConfig config{
      .begin = 0, .end = 1, .longest = 26, .batch_tokens = 400, .vocabulary = 5000, .seed = 9};
  const Pairs valid = random_pairs(100, 2);
  Index fitting = 0;
  for (std::size_t i = 0; i < 100; ++i)
    fitting += std::max(valid.source[i].size(), valid.target[i].size()) + 1 <= 26 ? 1 : 0;
  const TranslationTask task(random_pairs(300, 1), random_pairs(100, 2), config);
  Batch batch;
  Index evaluated = 0;
  for (Index b = 0; b < task.evaluation_batches(); ++b) {
    task.evaluation_batch(b, batch);
    evaluated += batch.input.sequences();
    for (const models::Tokens* side : {&batch.source, &batch.input})
      for (std::size_t s = 0; s + 1 < side->starts.size(); ++s)
        EXPECT_LE(side->starts[s + 1] - side->starts[s], 26);
  }
  EXPECT_EQ(evaluated, fitting);
  EXPECT_NE(task.describe().find(" and " + std::to_string(100 - fitting) + " evaluation pairs were left out"),
            std::string::npos)
      << task.describe();
  TranslationConfig few = config;
  few.evaluation_pairs = 10;  // of those that fit
  const TranslationTask short_task(random_pairs(300, 1), random_pairs(100, 2), few);
  short_task.evaluation_batch(0, batch);
  EXPECT_EQ(batch.input.sequences(), 10);
}

TEST(TranslationTask, RefusesNothingToLearn) {
  expect_error([] { TranslationTask(random_pairs(5, 1), {}, {.longest = 1, .batch_tokens = 10}); },
               ErrorKind::input, "data.short", "none of 5 training pairs can be used");
}

TEST(SyntheticTask, ListsAreCopiedAndReversed) {
  for (const bool source : {false, true}) {
    for (const SyntheticKind kind : {SyntheticKind::copy, SyntheticKind::reverse}) {
      const SyntheticConfig config{
          .kind = kind, .symbols = 10, .length = 9, .rows = 30, .with_source = source, .seed = 1};
      const auto make = [&] { return std::make_unique<SyntheticTask>(config); };
      expect_pure(make);
      Batch batch;
      make()->training_batch(0, batch);
      for (std::size_t s = 0; s < 30; ++s) {
        const auto begin = static_cast<std::size_t>(batch.input.starts[s]),
                   end = static_cast<std::size_t>(batch.input.starts[s + 1]);
        std::vector<std::int32_t> answer, question;
        for (std::size_t k = begin; k < end; ++k) {
          if (batch.targets[k] != kIgnored && batch.targets[k] != 1) answer.push_back(batch.targets[k]);
          if (!source && batch.targets[k] == kIgnored && k > begin) question.push_back(batch.input.ids[k]);
        }
        if (source)
          question.assign(batch.source.ids.begin() + batch.source.starts[s],
                          batch.source.ids.begin() + batch.source.starts[s + 1] - 1);
        if (kind == SyntheticKind::reverse) std::reverse(answer.begin(), answer.end());
        EXPECT_EQ(answer, question);
        EXPECT_EQ(batch.targets[end - 1], 1);
      }
    }
  }
}

TEST(SyntheticTask, RecallAsksAcrossTheDistance) {
  const SyntheticConfig config{
      .kind = SyntheticKind::recall, .symbols = 20, .length = 100, .pairs = 5, .rows = 3, .seed = 1};
  const SyntheticTask task(config);
  Batch batch;
  std::set<Index> lengths;
  for (std::int64_t i = 0; i < 20; ++i) {
    task.training_batch(i, batch);
    expect_whole(batch);
    for (std::size_t s = 0; s < 3; ++s) lengths.insert(batch.input.starts[s + 1] - batch.input.starts[s]);
  }
  EXPECT_GT(lengths.size(), 20U);
  EXPECT_GE(*lengths.begin(), 11);
  EXPECT_LE(*lengths.rbegin(), task.longest_input());
  task.evaluation_batch(0, batch);
  expect_whole(batch);
  const std::size_t length = 1 + 5 + 100 + 5;
  ASSERT_EQ(batch.input.ids.size(), 3 * length);
  // Answers are the first symbols of the vocabulary, then questions, then noise, then facts: key · 20 + value.
  constexpr std::int32_t answer = 3, question = answer + 20, fact = question + 20 + 16;
  for (std::size_t row = 0; row < 3; ++row) {
    const std::int32_t* ids = batch.input.ids.data() + row * length;
    std::set<std::int32_t> asked;
    for (std::size_t k = 0; k < length; ++k) {
      const std::int32_t target = batch.targets[row * length + k];
      EXPECT_LT(ids[k], task.vocabulary());
      if (target == kIgnored) continue;
      asked.insert(ids[k]);
      const std::int32_t known = fact + (ids[k] - question) * 20 + (target - answer);
      const auto place = static_cast<std::size_t>(std::find(ids, ids + length, known) - ids);
      EXPECT_LE(place, 5U);
      EXPECT_GE(k - place - 1, 100U);
    }
    EXPECT_EQ(asked.size(), 5U);
  }
}

TEST(SyntheticTask, InductionHasOneAnswer) {
  const SyntheticTask task(
      {.kind = SyntheticKind::induction, .symbols = 30, .length = 40, .rows = 20, .seed = 1});
  Batch batch;
  task.evaluation_batch(0, batch);
  std::set<int> periods;
  for (std::size_t row = 0; row < 20; ++row) {
    const std::int32_t* ids = batch.input.ids.data() + row * 40;
    int first = -1;
    for (int k = 0; k < 40; ++k) {
      const std::int32_t target = batch.targets[row * 40 + static_cast<std::size_t>(k)];
      EXPECT_TRUE(k == 39 || target == kIgnored || target == ids[k + 1]);
      if (target == kIgnored) continue;
      if (first < 0) first = k;
      EXPECT_EQ(ids[k], ids[k - first]);
    }
    periods.insert(first);
  }
  EXPECT_GT(periods.size(), 3U);
}

TEST(SyntheticTask, RefusesWhatDoesNotFit) {
  expect_error([] { SyntheticTask({.kind = SyntheticKind::recall, .symbols = 3, .pairs = 4}); },
               ErrorKind::usage, "data.synthetic", "recall cannot show 4 different keys of 3 symbols");
  expect_error([] { SyntheticTask({.kind = SyntheticKind::induction, .length = 40, .with_source = true}); },
               ErrorKind::usage, "data.synthetic", "induction has no source");
}

}  // namespace
}  // namespace headlight::train
