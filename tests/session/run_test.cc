// A run that was kept answers with the bits of the run as it happened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <thread>

#include "headlight/model.h"
#include "inspect/effect.h"
#include "inspect/recorder.h"
#include "session/state.h"
#include "support/errors.h"
#include "support/small_models.h"

namespace headlight {
namespace {

using headlight::testing::expect_error;
using headlight::testing::SmallKind;
using ::testing::HasSubstr;

constexpr const char* kText = "The animal didn't cross the street because it was too tired.";

class SessionRun : public ::testing::TestWithParam<SmallKind> {
 protected:
  SessionRun() { testing::write_small_model(folder_.path(""), GetParam()); }
  Model open() { return Model::open(folder_.path("")); }
  testing::TempFolder folder_;
};

std::vector<float> numbers(ConstTensorView x) {
  std::vector<float> out;
  for (Index i = 0; i < x.dim(0); ++i)
    for (Index j = 0; j < x.dim(1); ++j) out.push_back(static_cast<float>(x.at(i, j)));
  return out;
}

TEST_P(SessionRun, HasTheBitsOfTheRunAsItHappened) {
  const Model model = open();
  Context ctx({.threads = 2});
  AttentionRecorder during;
  const headlight::Run run = attend(ctx, model, {.text = kText}, {.observer = &during});
  ASSERT_FALSE(during.entries().empty());
  EXPECT_EQ(run.parts().size(), model.info().parts.size());
  for (const AttentionRecorder::Entry& entry : during.entries()) {
    const Head head{entry.part, entry.layer, static_cast<int>(entry.head)};
    EXPECT_EQ(numbers(run.weights(head)), numbers(entry.weights));
    EXPECT_EQ(entry.weights.dim(0), run.queries(entry.part).size());
    EXPECT_EQ(entry.weights.dim(1), run.keys(entry.part).size());
    const Tensor part = run.weights(head, {1, 3}, {0, 2});
    EXPECT_EQ(part.at(1, 1), entry.weights.at(2, 1));
  }
  AttentionRecorder after;
  run.replay(after);
  ASSERT_EQ(after.entries().size(), during.entries().size());
  for (std::size_t i = 0; i < after.entries().size(); ++i)
    EXPECT_EQ(numbers(after.entries()[i].weights), numbers(during.entries()[i].weights));
}

TEST_P(SessionRun, LogitsAreThoseOfTheModelForTheRowsAskedFor) {
  const Model model = open();
  Context ctx({.threads = 2});
  const headlight::Run run = attend(ctx, model, {.text = kText});
  const Tensor all = inspect::run(ctx, model.state().loaded, run.state().input);
  ASSERT_EQ(run.positions(), all.dim(0));
  EXPECT_EQ(numbers(run.logits()), numbers(all));
  const Tensor some = run.logits({2, 4});
  for (Index v = 0; v < all.dim(1); ++v) EXPECT_EQ(some.at(1, v), all.at(3, v));

  const inspect::Predictions old(all);
  const Prediction found = run.prediction(3, 5);
  ASSERT_EQ(found.top.size(), 5U);
  const std::vector<TokenId> likeliest = old.likeliest(3, 5);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(found.top[i].id, likeliest[i]);
    EXPECT_DOUBLE_EQ(found.top[i].probability, std::exp(old.log_probability(3, likeliest[i])));
  }
  ASSERT_TRUE(found.actual);
  EXPECT_EQ(found.rank, old.rank(3, found.actual->id));
}

TEST_P(SessionRun, StatisticsScoresAndMapsAgreeWithTheWeights) {
  const Model model = open();
  Context ctx({.threads = 2});
  const headlight::Run run = attend(ctx, model, {.text = kText});
  for (const Part part : run.parts()) {
    const Head head{part, 1, 1};
    const Tensor w = run.weights(head), scores = run.scores(head);
    const HeadStatistics s = run.statistics(head);
    const Tensor map = run.heat_map(head, 3, 2);
    EXPECT_EQ(map.shape(), (Shape{3, 2}));
    std::vector<double> received(static_cast<std::size_t>(w.dim(1)), 0);
    double largest = 0;
    for (Index i = 0; i < w.dim(0); ++i) {
      double sum = 0, entropy = 0, top = -1;
      Index at = -1;
      for (Index j = 0; j < w.dim(1); ++j) sum += std::isinf(scores.at(i, j)) ? 0 : std::exp(scores.at(i, j));
      for (Index j = 0; j < w.dim(1); ++j) {
        const double x = w.at(i, j);
        EXPECT_NEAR(x, std::isinf(scores.at(i, j)) ? 0 : std::exp(scores.at(i, j)) / sum, 1e-5);
        if (x > 0) entropy -= x * std::log(x);
        if (x > top) top = x, at = j;
        received[static_cast<std::size_t>(j)] += x;
      }
      EXPECT_NEAR(double{s.entropy[static_cast<std::size_t>(i)]}, entropy, 1e-5);
      EXPECT_FLOAT_EQ(s.largest_weight[static_cast<std::size_t>(i)], static_cast<float>(top));
      EXPECT_EQ(s.largest_key[static_cast<std::size_t>(i)], at);
      largest = std::max(largest, top);
    }
    for (std::size_t j = 0; j < received.size(); ++j) EXPECT_NEAR(double{s.received[j]}, received[j], 1e-4);
    double cell = 0;
    for (Index i = 0; i < 3; ++i)
      for (Index j = 0; j < 2; ++j) cell = std::max(cell, map.at(i, j));
    EXPECT_EQ(cell, largest);
    EXPECT_EQ(run.values(head).dim(0), w.dim(1));
  }
}

TEST_P(SessionRun, NumbersAreThoseOfTheTargetThatTheRunWasMadeOn) {
  const Model model = open();
  Context scalar({.threads = 1, .target = SimdTarget::scalar});
  AttentionRecorder during;
  const headlight::Run run = attend(scalar, model, {.text = kText}, {.observer = &during});
  for (const AttentionRecorder::Entry& entry : during.entries())
    EXPECT_EQ(numbers(run.weights({entry.part, entry.layer, static_cast<int>(entry.head)})),
              numbers(entry.weights));
  EXPECT_EQ(numbers(run.logits()), numbers(inspect::run(scalar, model.state().loaded, run.state().input)));
}

// Under the thread sanitizer this is where races of a shared model would show.
TEST_P(SessionRun, ManyThreadsShareAModelAndARun) {
  const Model model = open();
  Context ctx({.threads = 1});
  const headlight::Run shared = attend(ctx, model, {.text = kText});
  const Head head{shared.parts().back(), 1, 0};
  const std::vector<float> weights = numbers(shared.weights(head)), logits = numbers(shared.logits());
  std::vector<std::vector<float>> own(4), again(4), rows(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < own.size(); ++t)
    threads.emplace_back([&, t] {
      Context mine({.threads = 1 + static_cast<int>(t % 2)});
      const headlight::Run run = attend(mine, model, {.text = kText});
      own[t] = numbers(run.weights(head, {}, {}, mine));
      again[t] = numbers(shared.weights(head));
      rows[t] = numbers(shared.logits({}, mine));
      (void)first_look(shared, {}, mine);
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < own.size(); ++t) {
    EXPECT_EQ(own[t], weights);
    EXPECT_EQ(again[t], weights);
    EXPECT_EQ(rows[t], logits);
  }
}

TEST_P(SessionRun, TokensHaveTheirWords) {
  const Model model = open();
  Context ctx({.threads = 1});
  const headlight::Run run = attend(ctx, model, {.text = kText});
  const TokenizedText& text = run.source();
  const WordChoice tired = find_words(text, "tired");
  EXPECT_EQ(tired.tokens.size(), 2);  // "ti" and "##red"
  const Token& first = text.tokens[static_cast<std::size_t>(tired.tokens.begin)];
  EXPECT_EQ(text.words[static_cast<std::size_t>(first.word)].text, "tired");
  EXPECT_EQ(text.text.substr(first.begin, 2), "ti");
  const headlight::Run twice = attend(ctx, model, {.text = "it was wide because it was tired"});
  EXPECT_EQ(find_words(twice.source(), "it").others, 1);
  expect_error([&] { (void)find_words(text, "zebra"); }, ErrorKind::usage, "inspect.word", "zebra");
}

TEST_P(SessionRun, SaysWhatItDoesNotHave) {
  const Model model = open();
  Context ctx({.threads = 1});
  const headlight::Run run = attend(ctx, model, {.text = kText});
  const Part part = run.parts().front();
  expect_error([&] { (void)run.weights({part, 2, 0}); }, ErrorKind::usage, "run.head", "layers 0 to 1");
  expect_error([&] { (void)run.weights({part, 0, -1}); }, ErrorKind::usage, "run.head", "head 0.-1");
  expect_error(
      [&] {
        (void)run.weights({part, 0, 0}, {3, 99});
      },
      ErrorKind::usage, "run.range", "queries 3 to 98");
  expect_error([&] { (void)attend(ctx, model, {.text = "a", .ids = {1}}); }, ErrorKind::usage, "prompt",
               "give one");
  expect_error([&] { (void)attend(ctx, model, {.ids = {100000}}); }, ErrorKind::input, "inspect.id",
               "100000");
  if (model.info().kind != ModelKind::encoder_decoder)
    expect_error([&] { (void)attend(ctx, model, {.text = "a", .target = "b"}); }, ErrorKind::usage, "prompt",
                 "does not translate");
}

TEST_P(SessionRun, DescribesItsModel) {
  const Model model = open();
  const ModelInfo& info = model.info();
  EXPECT_EQ(info.parts.size(), info.kind == ModelKind::encoder_decoder ? 3U : 1U);
  for (const PartInfo& part : info.parts) EXPECT_EQ(part.heads, (std::vector<Index>{2, 2}));
  EXPECT_EQ(info.width, 16);
  EXPECT_EQ(info.context, 40);
  EXPECT_GT(info.parameters, 1000);
  EXPECT_GE(info.bytes, static_cast<std::uint64_t>(4 * info.parameters));
  EXPECT_NE(model.tokenizer(), nullptr);
}

INSTANTIATE_TEST_SUITE_P(All, SessionRun,
                         ::testing::Values(SmallKind::decoder, SmallKind::encoder, SmallKind::translator),
                         [](const auto& test) {
                           return test.param == SmallKind::decoder   ? "decoder"
                                  : test.param == SmallKind::encoder ? "encoder"
                                                                     : "translator";
                         });

TEST(Session, TheEncoderAloneTranslatesNothing) {
  testing::TempFolder folder;
  testing::write_small_model(folder.path(""), SmallKind::translator);
  const Model model = Model::open(folder.path(""));
  Context ctx({.threads = 1});
  const headlight::Run run = attend(ctx, model, {.text = kText}, {.parts = {Part::encoder}});
  EXPECT_EQ(run.parts().size(), 1U);
  EXPECT_EQ(run.positions(), 0);
  EXPECT_TRUE(run.target().tokens.empty());
  expect_error([&] { (void)run.logits(); }, ErrorKind::usage, "run.logits", "only its encoder ran");
  expect_error(
      [&] {
        (void)run.weights({Part::cross, 0, 0});
      },
      ErrorKind::usage, "run.part", "no cross attention");
}

TEST(Session, TargetIdsAreTheDecodersInputVerbatim) {
  testing::TempFolder folder;
  testing::write_small_model(folder.path(""), SmallKind::translator);
  const Model model = Model::open(folder.path(""));
  Context ctx({.threads = 1});
  const headlight::Run run = attend(ctx, model, {.text = kText, .target_ids = {3, 7, 9}});
  ASSERT_EQ(run.queries(Part::decoder).size(), 3);
  EXPECT_EQ(run.queries(Part::decoder).tokens[0].id, 3);
  EXPECT_EQ(run.queries(Part::cross).tokens[2].id, 9);
  EXPECT_EQ(run.positions(), 3);
  EXPECT_EQ(run.prediction(0, 1).actual->id, 7);
  EXPECT_FALSE(run.prediction(2, 1).actual);
}

TEST(Session, AContinuationFollowsTheText) {
  testing::TempFolder folder;
  testing::write_small_model(folder.path(""), SmallKind::decoder);
  const Model model = Model::open(folder.path(""));
  Context ctx({.threads = 1});
  const headlight::Run plain = attend(ctx, model, {.text = "the street"});
  const headlight::Run more = attend(ctx, model, {.text = "the street", .continuation = {5, 6}});
  ASSERT_EQ(more.source().size(), plain.source().size() + 2);
  EXPECT_EQ(more.source().tokens.back().id, 6);
  std::vector<std::int32_t> ids;
  for (const Token& token : more.source().tokens) ids.push_back(token.id);
  EXPECT_EQ(numbers(attend(ctx, model, {.ids = ids}).logits()), numbers(more.logits()));
}

TEST(Session, OpenSaysWhereItLooked) {
  expect_error([] { (void)Model::open("no-such-model", {.places = {"/nowhere"}}); }, ErrorKind::file,
               "model.name", "/nowhere/no-such-model");
}

}  // namespace
}  // namespace headlight
