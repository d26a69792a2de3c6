// Conversations, choices and vectors of texts through the model API.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "headlight/chat.h"
#include "headlight/choices.h"
#include "headlight/embed.h"
#include "support/errors.h"
#include "support/small_models.h"

namespace headlight {
namespace {

using headlight::testing::expect_error;
using headlight::testing::SmallKind;

class SessionChat : public ::testing::Test {
 protected:
  Model open(SmallKind kind) {
    testing::write_small_model(folder_.path(""), kind);
    return Model::open(folder_.path(""));
  }
  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_.root() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  testing::TempFolder folder_;
  Context ctx_{{.threads = 1}};
};

constexpr const char* kTemplate =
    "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content | trim }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}";

TEST_F(SessionChat, MessagesBecomeAPrompt) {
  const Model model = open(SmallKind::decoder);
  const std::vector<ChatMessage> messages = {{"system", "be brief"}, {"user", " the animal "}};
  EXPECT_FALSE(has_chat_template(model));
  expect_error([&] { (void)chat_prompt(model, messages); }, ErrorKind::input, "chat.missing",
               "no chat template");
  write("tokenizer_config.json", R"({"bos_token": {"content": "<b>"}, "chat_template": "of the config"})");
  EXPECT_EQ(chat_text(model, messages), "of the config");
  write("chat_template.jinja", kTemplate);
  EXPECT_TRUE(has_chat_template(model));
  EXPECT_EQ(chat_text(model, messages), "<b>system: be brief\nuser: the animal\nassistant:");
  EXPECT_EQ(chat_text(model, messages, {.add_generation_prompt = false}),
            "<b>system: be brief\nuser: the animal\n");
  const Prompt prompt = chat_prompt(model, messages);
  EXPECT_EQ(prompt.ids, model.tokenizer()->encode(chat_text(model, messages), SpecialTokens::leave_out));
  EXPECT_EQ(generate(ctx_, model, std::span(&prompt, 1), {.max_tokens = 3}).front().prompt_ids, prompt.ids);
  write("chat_template.jinja", "{% for m in messages %}");
  expect_error([&] { (void)chat_text(model, messages); }, ErrorKind::input, "chat.template",
               "chat_template.jinja, line 1: {% endfor %} is missing");
}

TEST_F(SessionChat, OptionsThatTheFilesSuggest) {
  const Model model = open(SmallKind::decoder);
  EXPECT_EQ(suggested_options(model).notice, "");
  write("generation_config.json", R"({"do_sample": true, "temperature": 0.7, "top_k": 20, "top_p": 0.8})");
  const SuggestedOptions found = suggested_options(model);
  EXPECT_EQ(found.options.temperature, 0.7);
  EXPECT_EQ(found.options.top_k, 20);
  EXPECT_EQ(found.options.top_p, 0.8);
  EXPECT_NE(found.notice.find("generation_config.json: temperature 0.7, top-k 20, top-p 0.8"),
            std::string::npos)
      << found.notice;
  write("generation_config.json", R"({"temperature": 0.7})");  // nothing is drawn
  EXPECT_EQ(suggested_options(model).options.temperature, 0);
  write("generation_config.json", R"({"do_sample": true, "temperature": -3})");
  expect_error([&] { (void)suggested_options(model); }, ErrorKind::input, "generation.rules",
               "generation_config.json");
}

TEST_F(SessionChat, ChoicesHaveTheProbabilitiesOfTheirTokens) {
  const Model model = open(SmallKind::decoder);
  const std::vector<std::string> choices = {" it was", " the street"};
  const Prompt prompt{.text = "the animal"};
  const std::vector<ChoiceScore> scores = score_choices(ctx_, model, prompt, choices);
  ASSERT_EQ(scores.size(), 2U);
  EXPECT_NEAR(scores[0].share + scores[1].share, 1, 1e-12);
  EXPECT_NEAR(std::log(scores[0].share / scores[1].share),
              scores[0].log_probability - scores[1].log_probability, 1e-9);
  // The same from the logits of the whole text.
  const std::vector<TokenId> before = model.tokenizer()->encode(prompt.text);
  for (const ChoiceScore& score : scores) {
    const headlight::Run run = attend(ctx_, model, {.ids = before, .continuation = score.ids});
    double sum = 0;
    for (std::size_t i = 0; i < score.ids.size(); ++i) {
      const Tensor row =
          run.logits({static_cast<Index>(before.size() + i) - 1, static_cast<Index>(before.size() + i)});
      double total = 0;
      for (Index d = 0; d < row.dim(1); ++d) total += std::exp(row.at(0, d));
      sum += row.at(0, score.ids[i]) - std::log(total);
    }
    EXPECT_NEAR(score.log_probability, sum, 1e-5);
  }
  const std::vector<std::string> one = {"a"}, twice = {"a", "a"};
  expect_error([&] { (void)score_choices(ctx_, model, prompt, one); }, ErrorKind::usage, "choices.count",
               "two choices");
  expect_error([&] { (void)score_choices(ctx_, model, prompt, twice); }, ErrorKind::usage, "choices.twice",
               "given twice");
}

TEST_F(SessionChat, VectorsArePooledAsTheFilesSay) {
  const Model model = open(SmallKind::encoder);
  const std::vector<std::string> texts = {"the animal", "it was too tired"};
  const Embeddings mean = embed(ctx_, model, texts);
  EXPECT_EQ(mean.pooling, Pooling::mean);
  EXPECT_FALSE(mean.normalised);
  const headlight::Run run = attend(ctx_, model, {.text = texts[0]});
  const ConstTensorView states = run.hidden_states();
  for (Index d = 0; d < states.dim(1); ++d) {
    double sum = 0;
    for (Index i = 0; i < states.dim(0); ++i) sum += states.at(i, d);
    EXPECT_NEAR(mean.vectors.at(0, d), sum / static_cast<double>(states.dim(0)), 1e-6);
  }
  write("modules.json",
        R"([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
      {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
      {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])");
  write("1_Pooling/config.json", R"({"word_embedding_dimension": 8, "pooling_mode_cls_token": true})");
  const Embeddings first = embed(ctx_, model, texts);
  EXPECT_EQ(first.pooling, Pooling::first);
  double length = 0;
  for (Index d = 0; d < states.dim(1); ++d) length += states.at(0, d) * states.at(0, d);
  for (Index d = 0; d < states.dim(1); ++d)
    EXPECT_NEAR(first.vectors.at(0, d), states.at(0, d) / std::sqrt(length), 1e-6);
  EXPECT_EQ(embed(ctx_, model, texts, {.pooling = Pooling::mean, .normalise = false}).vectors.at(1, 3),
            mean.vectors.at(1, 3));
  write("sentence_bert_config.json", R"({"max_seq_length": 2})");
  expect_error([&] { (void)embed(ctx_, model, texts); }, ErrorKind::input, "embed.length", "at most 2");
  write("modules.json", R"([{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}])");
  expect_error([&] { (void)embed(ctx_, model, texts); }, ErrorKind::input, "embed.modules", "Dense");
  write("modules.json", R"([{"path": "../x", "type": "sentence_transformers.models.Pooling"}])");
  expect_error([&] { (void)embed(ctx_, model, texts); }, ErrorKind::input, "embed.modules",
               "not a folder next to it");
  write("modules.json", R"([{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])");
  write("1_Pooling/config.json", R"({"pooling_mode_weightedmean_tokens": true})");
  expect_error([&] { (void)embed(ctx_, model, texts); }, ErrorKind::input, "embed.modules", "weightedmean");
}

}  // namespace
}  // namespace headlight
