// Models that write, and everything that takes long can be stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "headlight/model.h"
#include "models/generate.h"
#include "models/text_loss.h"
#include "models/translate.h"
#include "session/state.h"
#include "support/errors.h"
#include "support/small_models.h"

namespace headlight {
namespace {

using headlight::testing::expect_error;
using headlight::testing::SmallKind;

constexpr const char* kText = "The animal didn't cross the street because it was too tired.";

class SessionWrite : public ::testing::Test {
 protected:
  Model open(SmallKind kind) {
    testing::write_small_model(folder_.path(""), kind);
    return Model::open(folder_.path(""));
  }
  testing::TempFolder folder_;
  Context ctx_{{.threads = 2}};
};

TEST_F(SessionWrite, GeneratesWhatTheModelWrites) {
  const Model model = open(SmallKind::decoder);
  const std::vector<Prompt> prompts = {{.text = "the animal"}, {.text = "it was"}};
  std::string told;
  GenerateOptions options;
  options.max_tokens = 8;
  options.temperature = 0.7;
  options.seed = 3;
  options.on_token = [&](const GeneratedToken& token) {
    if (token.item == 1) told += token.text;
    return true;
  };
  const std::vector<GeneratedText> texts = generate(ctx_, model, prompts, options);
  models::Tokens tokens;
  for (const GeneratedText& text : texts) tokens.append(text.prompt_ids);
  const auto old = models::continue_prompts(ctx_, *model.state().loaded.model, tokens,
                                            {.most = 8, .temperature = 0.7, .seed = 3});
  ASSERT_EQ(texts.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(texts[i].ids, old[i].tokens);
    EXPECT_EQ(texts[i].log_probabilities, old[i].log_probabilities);
  }
  EXPECT_TRUE(texts[1].text.starts_with(told));
  // It ends before a stop string.
  const std::string word = texts[0].text.substr(1, 3);
  options.stops = {word};
  const GeneratedText stopped = generate(ctx_, model, std::span(prompts).first(1), options).front();
  EXPECT_TRUE(stopped.stopped_by_string);
  EXPECT_EQ(stopped.ending, Ending::stopped);
  EXPECT_EQ(stopped.text, texts[0].text.substr(0, texts[0].text.find(word)));
  expect_error([&] { (void)translate(ctx_, model, {}); }, ErrorKind::usage, "translate.kind",
               "does not translate");
}

TEST_F(SessionWrite, TranslatesWhatTheModelTranslates) {
  const Model model = open(SmallKind::translator);
  const std::vector<std::string> texts = {kText, " ", "it was wide"};
  const std::vector<Translation> now = translate(ctx_, model, texts, {.beams = 3});
  models::TransformerWriter writer(*model.state().loaded.model);
  const auto old = models::translate(ctx_, writer, *model.tokenizer(), texts, {.beams = 3});
  ASSERT_EQ(now.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(now[i].text, old[i].text);
    EXPECT_EQ(now[i].score, old[i].score);
  }
  expect_error([&] { (void)generate(ctx_, model, {}); }, ErrorKind::usage, "generate.kind",
               "encoder-decoder");
}

TEST_F(SessionWrite, EvaluatesDocumentsAndStreams) {
  const Model model = open(SmallKind::decoder);
  const std::vector<std::string> documents = {"the animal was tired", "it was wide"};
  const Evaluation now = evaluate(ctx_, model, documents);
  const auto old = models::text_loss(ctx_, *model.state().loaded.model, *model.tokenizer(), documents);
  EXPECT_EQ(now.nats, old->nats);
  EXPECT_EQ(now.documents, 2);
  EXPECT_DOUBLE_EQ(now.perplexity(), std::exp(old->per_token()));
  std::istringstream stream("the animal was tired<|endoftext|>\nit was wide\n<|endoftext|>");
  EXPECT_EQ(evaluate(ctx_, model, stream).nats, now.nats);
  std::istringstream nothing(" \n");
  expect_error([&] { (void)evaluate(ctx_, model, nothing); }, ErrorKind::input, "evaluate.empty", "no text");
}

TEST_F(SessionWrite, CutsSourcesToTheContext) {
  const Model translator = open(SmallKind::translator);
  std::string longer = kText;
  while (translator.tokenizer()->encode(longer).size() <= static_cast<std::size_t>(translator.info().context))
    longer += std::string(" ") + kText;
  TestSet set{.sources = {kText, longer}};
  EXPECT_EQ(cut_sources(set, translator), 1);
  EXPECT_EQ(set.sources[0], kText);
  EXPECT_EQ(static_cast<Index>(translator.tokenizer()->encode(set.sources[1]).size()),
            translator.info().context);
  EXPECT_EQ(longer.substr(0, set.sources[1].size()), set.sources[1]);
  EXPECT_EQ(cut_sources(set, translator), 0);
}

// Says how far it is, and stops when it is asked for the n-th time.
struct Stopper {
  int asked = 0, reports = 0;
  Progress progress(int after) {
    return {.report = [this](const ProgressStep& step) { reports += step.total > 0 ? 1 : 0; },
            .cancelled = [this, after] { return ++asked > after; }};
  }
};

TEST_F(SessionWrite, EverythingThatTakesLongIsStopped) {
  const Model writer = open(SmallKind::decoder);
  const headlight::Run run = attend(ctx_, writer, {.text = kText});
  const std::vector<std::string> texts = {kText, kText, kText};
  const std::vector<Prompt> prompts = {{.text = "the animal"}};
  const Prompt prompt{.text = kText};
  const auto stops = [](auto call, int after) {
    Stopper stopper;
    const Progress progress = stopper.progress(after);
    EXPECT_THROW(call(progress), Cancelled);
    EXPECT_EQ(stopper.asked, after + 1);
  };
  stops([&](const Progress& p) { (void)attend(ctx_, writer, prompt, {.progress = p}); }, 2);
  stops([&](const Progress& p) { (void)first_look(run, {.progress = p}); }, 1);
  stops([&](const Progress& p) { (void)find_links(run, {.link = "it->?", .progress = p}); }, 1);
  stops([&](const Progress& p) { (void)figure(run, {.view = {.all = true}, .progress = p}); }, 1);
  stops([&](const Progress& p) { (void)attribute(ctx_, run, {}, {}, p); }, 1);
  stops([&](const Progress& p) { (void)logit_lens(run, 0, 3, ctx_, p); }, 1);
  stops([&](const Progress& p) { (void)label_heads(ctx_, writer, texts, p); }, 2);
  stops([&](const Progress& p) { (void)compare(run, run, {}, p); }, 2);
  stops([&](const Progress& p) { (void)ablate(ctx_, writer, prompt, {}, {.progress = p}); }, 3);
  stops([&](const Progress& p) { (void)sweep(ctx_, writer, prompt, {}, p); }, 4);
  stops(
      [&](const Progress& p) {
        GenerateOptions options;
        options.progress = p;
        (void)generate(ctx_, writer, prompts, options);
      },
      3);
  stops([&](const Progress& p) { (void)evaluate(ctx_, writer, texts, {}, p); }, 1);
  const Model translator = open(SmallKind::translator);
  stops([&](const Progress& p) { (void)translate(ctx_, translator, texts, {}, p); }, 5);
  stops([&](const Progress& p) { (void)attend(ctx_, translator, prompt, {.progress = p}); }, 5);
}

TEST_F(SessionWrite, ProgressIsReported) {
  const Model model = open(SmallKind::decoder);
  Stopper stopper;
  const SweepResult swept = sweep(ctx_, model, {.text = kText}, {}, stopper.progress(1 << 20));
  EXPECT_EQ(stopper.reports, static_cast<int>(swept.heads.size()));
}

}  // namespace
}  // namespace headlight
