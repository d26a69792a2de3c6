// What the command line asks of the model API besides: positions and tokens by name, rows of a comparison, tasks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "headlight/model.h"
#include "session/state.h"
#include "support/errors.h"
#include "support/small_models.h"

namespace headlight {
namespace {

using headlight::testing::expect_error;
using headlight::testing::SmallKind;

constexpr const char* kText = "The animal didn't cross the street because it was too tired.";

class SessionRequests : public ::testing::Test {
 protected:
  Model open(SmallKind kind) {
    testing::write_small_model(folder_.path(""), kind);
    return Model::open(folder_.path(""));
  }
  testing::TempFolder folder_;
  Context ctx_{{.threads = 2}};
};

TEST_F(SessionRequests, PositionsAreThoseThatPeopleMean) {
  const headlight::Run writer = attend(ctx_, open(SmallKind::decoder), {.text = kText});
  EXPECT_TRUE(writer.predicts_next());
  EXPECT_EQ(natural_position(writer), writer.positions() - 1);
  EXPECT_EQ(usual_position(writer), writer.positions() - 1);
  const headlight::Run translator =
      attend(ctx_, open(SmallKind::translator), {.text = kText, .target = "it was tired"});
  EXPECT_FALSE(translator.predicts_next());
  EXPECT_EQ(natural_position(translator), std::nullopt);
  EXPECT_EQ(translator.position_tokens().tokens[static_cast<std::size_t>(usual_position(translator))].text,
            "ti");
}

TEST_F(SessionRequests, TokensAreFoundByTextAndNumber) {
  const Model model = open(SmallKind::decoder);
  const TokenId cat = find_token(model, "cat");
  EXPECT_EQ(model.tokenizer()->token(cat), "cat");
  EXPECT_EQ(find_token(model, "@" + std::to_string(cat)), cat);
  expect_error([&] { (void)find_token(model, "tired"); }, ErrorKind::usage, "token", "several: \"ti\"");
  expect_error([&] { (void)find_token(model, "@9999"); }, ErrorKind::usage, "token", "token id below");
}

TEST_F(SessionRequests, ARowOfTwoRuns) {
  const Model model = open(SmallKind::decoder);
  const headlight::Run a = attend(ctx_, model, {.text = kText}),
                       b = attend(ctx_, model,
                                  {.text = "The animal didn't cross the street because it was too wide."});
  const Comparison whole = compare(a, b), row = compare(a, b, {.query = "because"});
  ASSERT_EQ(row.rows.size(), 1U);
  EXPECT_EQ(row.weights_a.dim(0), 1);
  EXPECT_EQ(row.columns.size(), whole.columns.size());
  EXPECT_LE(row.heads.front().distance, whole.heads.front().distance);
  expect_error([&] { (void)compare(a, b, {.query = "cat"}); }, ErrorKind::usage, "inspect.word",
               "not in the text");
}

TEST_F(SessionRequests, AblationOfARunIsThatOfItsPrompt) {
  const Model model = open(SmallKind::translator);
  const headlight::Run run = attend(ctx_, model, {.text = kText});
  const AblationPlan plan{.part = Part::cross, .heads = {{0, 1}}};
  TaskText task;
  task.translations = {{"the animal", "the street"}, {{"it was"}, {"the cat"}}};
  const AblationEffect of_run = ablate(ctx_, run, plan, {.translate = true, .task = &task}),
                       of_prompt = ablate(ctx_, model, {.text = kText}, plan);
  EXPECT_EQ(of_run.kl, of_prompt.kl);
  ASSERT_TRUE(of_run.translation_before && of_run.task_loss && of_run.bleu);
  EXPECT_EQ(of_run.translation_before, model.tokenizer()->decode(run.state().input.written.ids()));
  EXPECT_GT(of_run.task_loss->count, 3);
  EXPECT_NE(of_run.task_loss->before, of_run.task_loss->after);
  EXPECT_EQ(of_run.bleu->count, 2);
  EXPECT_FALSE(of_prompt.task_loss || of_prompt.translation_before);
}

TEST_F(SessionRequests, SharesInALogitAddUp) {
  const headlight::Run run = attend(ctx_, open(SmallKind::decoder), {.text = kText});
  const Attribution shares = attribute(ctx_, run);
  EXPECT_EQ(shares.row, run.positions() - 1);
  EXPECT_EQ(shares.token, run.prediction(shares.row, 1).top.front().id);
  EXPECT_EQ(shares.heads.size(), 4U);
  EXPECT_NEAR(shares.sum(), shares.logit, 1e-4);
}

TEST_F(SessionRequests, TheRunOfATranslationHasItsTokens) {
  const Model model = open(SmallKind::translator);
  const std::vector<std::string> texts = {kText};
  const Translation best = translate(ctx_, model, texts).front();
  const headlight::Run run = attend_written(ctx_, model, kText, best.ids, {.parts = {Part::cross}});
  ASSERT_GE(run.target().tokens.size(), best.ids.size());
  for (std::size_t i = 0; i < best.ids.size(); ++i) EXPECT_EQ(run.target().tokens[i].id, best.ids[i]);
  EXPECT_EQ(run.weights({Part::cross, 0, 0}).dim(0), run.target().size());
}

TEST_F(SessionRequests, HeadsLikeAHead) {
  const Model model = open(SmallKind::decoder);
  const HeadLabels labels =
      label_heads(ctx_, model, std::span<const Prompt>(), {.similar_to = {{Part::decoder, 1, 0}}});
  EXPECT_EQ(labels.heads.size(), 4U);
  ASSERT_EQ(labels.similar.size(), 1U);
  ASSERT_EQ(labels.similar[0].size(), 3U);
  EXPECT_GE(labels.similar[0][0].cosine, labels.similar[0][1].cosine);
  const std::vector<Prompt> longer(1, Prompt{.ids = std::vector<std::int32_t>(60, 7)});
  EXPECT_EQ(label_heads(ctx_, model, longer, {}).cut, 1);
  expect_error([&] { (void)label_heads(ctx_, model, longer, {.cut_long_texts = false}); }, ErrorKind::input,
               "inspect.length", "reads at most");
}

TEST_F(SessionRequests, RecurrentModelsTranslateOnly) {
  testing::write_small_model(folder_.path(""), SmallKind::recurrent);
  expect_error([&] { (void)Model::open(folder_.path("")); }, ErrorKind::input, "model.family", "recurrent");
  const Model model = Model::open(folder_.path(""), {.recurrent_too = true});
  EXPECT_TRUE(model.info().recurrent);
  EXPECT_TRUE(model.info().parts.empty());
  EXPECT_GT(model.info().parameters, 0);
  const std::vector<std::string> texts = {"the cat"};
  EXPECT_EQ(translate(ctx_, model, texts).size(), 1U);
}

TEST(SessionTexts, DocumentsAndScores) {
  EXPECT_EQ(split_documents("a\n<|endoftext|>\n b \n<|endoftext|>", "<|endoftext|>"),
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(split_documents("a long text<|endoftext|>b", "<|endoftext|>"),
            (std::vector<std::string>{"a long text", "b"}));
  EXPECT_EQ(split_documents(" a b ", ""), (std::vector<std::string>{" a b "}));
  const TestSet set{{"le chat"}, {{"the cat sat on the mat"}}};
  const std::vector<std::string> same = {"the cat sat on the mat"}, none = {};
  EXPECT_NEAR(score_translations(set, same).bleu, 100, 1e-9);
  EXPECT_EQ(score_translations(set, same).references, 1);
  expect_error([&] { (void)score_translations(set, none); }, ErrorKind::usage, "score.count",
               "0 translations");
}

}  // namespace
}  // namespace headlight
