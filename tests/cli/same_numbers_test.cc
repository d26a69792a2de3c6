// The same question to the command line, over HTTP and in C++ gets the same numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "headlight/model.h"
#include "io/json.h"
#include "serve/api.h"
#include "support/small_models.h"
#include "support/subprocess.h"

namespace headlight::cli {
namespace {

constexpr const char* kText = "the animal was too tired";

class SameNumbers : public ::testing::Test {
 protected:
  static serve::ApiOptions served(const std::string& folder) {
    serve::ApiOptions options;
    options.models = {{"model", folder}};
    options.threads = 1;
    return options;
  }
  io::Json command(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--model", folder_.path(""), "--json", "-"});
    const testing::Finished done = testing::run_program(arguments);
    EXPECT_EQ(done.code, 0) << done.err;
    return io::Json::parse(done.out, "command");
  }
  io::Json page(serve::Api& api, const std::string& path, const std::string& query) const {
    const serve::Answer answer =
        api.answer({.method = "GET", .path = "/api/v1/run/" + path, .query = query, .body = ""});
    EXPECT_EQ(answer.status, 200) << answer.body;
    return io::Json::parse(answer.body, "page");
  }
  static std::string asked() { return std::string(R"({"text": ")") + kText + "\"}"; }
  static std::string start(serve::Api& api) {
    const serve::Answer made =
        api.answer({.method = "POST", .path = "/api/v1/run", .query = "", .body = asked()});
    EXPECT_EQ(made.status, 200) << made.body;
    return io::Json::parse(made.body, "run").text("id");
  }
  static void expect_weights(const io::Json& answer, const Tensor& weights) {
    const io::Json& rows = answer.list("maps").items()[0].list("weights");
    ASSERT_EQ(static_cast<Index>(rows.items().size()), weights.dim(0));
    for (Index i = 0; i < weights.dim(0); ++i) {
      for (Index j = 0; j < weights.dim(1); ++j) {
        const io::Json& cell = rows.items()[static_cast<std::size_t>(i)].items()[static_cast<std::size_t>(j)];
        const double told =
            cell.is(io::Json::Kind::null) ? 0 : cell.real();  // null: the query cannot see the key
        EXPECT_EQ(static_cast<float>(told), static_cast<float>(weights.at(i, j)));
      }
    }
  }
  testing::TempFolder folder_;
};

TEST_F(SameNumbers, OfWeightsLinksAndPredictions) {
  for (const auto kind :
       {testing::SmallKind::decoder, testing::SmallKind::encoder, testing::SmallKind::translator}) {
    testing::write_small_model(folder_.path(""), kind);
    const Model model = Model::open(folder_.path(""));
    Context ctx({.threads = 2});
    const headlight::Run run = attend(ctx, model, {.text = kText});
    serve::Api api(served(folder_.path("")));
    const std::string id = start(api);
    for (const Part part : run.parts()) {
      const std::string name(name_of(part));
      const Tensor weights = run.weights({part, 1, 1});
      expect_weights(command({"show", kText, "--part", name, "--head", "1.1"}), weights);
      expect_weights(page(api, id + "/figure", "part=" + name + "&layer=1&head=1&format=json"), weights);
    }
    const io::Json links = command({"heads", kText, "--link", "tired->animal"});
    const std::vector<LinkScore> found = find_links(run, {.link = "tired->animal"});
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(links.list("heads").items()[i].real("weight"), found[i].weight, 1e-6);
    const io::Json next = page(api, id + "/next", "position=2");
    const Prediction prediction = run.prediction(2, 3, ctx);
    for (std::size_t i = 0; i < 3; ++i) {
      const io::Json& top = next.list("tops").items()[i];
      EXPECT_EQ(top.at("id").integer(), prediction.top[i].id);
      EXPECT_DOUBLE_EQ(top.at("p").real(), prediction.top[i].probability);
    }
  }
}

TEST_F(SameNumbers, OfOneWeightStepByStep) {
  testing::write_small_model(folder_.path(""), testing::SmallKind::decoder);
  const Model model = Model::open(folder_.path(""));
  Context ctx({.threads = 1});
  const headlight::Run run = attend(ctx, model, {.text = kText});
  const Index query = find_words(run.source(), "was").tokens.begin,
              key = find_words(run.source(), "animal").tokens.begin;
  const HeadSteps steps = explain(run, {.head = {Part::decoder, 1, 1}, .query = query, .key = key}, ctx);
  const io::Json told = command({"explain", kText, "--head", "1.1", "--query", "was", "--key", "animal"});
  EXPECT_EQ(told.real("weight"), steps.weights[static_cast<std::size_t>(key)]);
  EXPECT_EQ(told.real("score"), steps.scores[static_cast<std::size_t>(key)]);
  serve::Api api(served(folder_.path("")));
  const io::Json drawn = page(api, start(api) + "/figure", "part=decoder&layer=1&head=1&format=json");
  const double cell = drawn.list("maps")
                          .items()[0]
                          .list("weights")
                          .items()[static_cast<std::size_t>(query)]
                          .items()[static_cast<std::size_t>(key)]
                          .real();
  EXPECT_NEAR(cell, told.real("weight"), 1e-6);
}

TEST_F(SameNumbers, OfChangedHeadsAndLabels) {
  for (const auto kind : {testing::SmallKind::decoder, testing::SmallKind::translator}) {
    testing::write_small_model(folder_.path(""), kind);
    const Model model = Model::open(folder_.path(""));
    Context ctx({.threads = 2});
    const Part part = model.info().parts.front().part;
    const AblationEffect effect =
        ablate(ctx, model, {.text = kText}, {.part = part, .heads = {{1, 0}}}, {.translate = true});
    const io::Json told = command({"ablate", kText, "--head", "1.0"});
    EXPECT_NEAR(told.real("mean_kl"), effect.mean_kl, 1e-5 * effect.mean_kl);
    EXPECT_EQ(told.integer("row"), effect.position);
    for (std::size_t i = 0; i < effect.tokens.size(); ++i) {
      EXPECT_EQ(told.list("tokens").items()[i].integer("id"), effect.tokens[i].token);
      EXPECT_NEAR(told.list("tokens").items()[i].real("after"), effect.tokens[i].after, 1e-5);
    }
    if (effect.translation_after) {
      EXPECT_EQ(told.at("translation").text("after"), *effect.translation_after);
    }
    const SweepResult swept = sweep(ctx, model, {.text = kText});
    const io::Json every = command({"ablate", kText, "--sweep"});
    ASSERT_EQ(every.list("heads").items().size(), swept.heads.size());
    for (std::size_t i = 0; i < swept.heads.size(); ++i)
      EXPECT_NEAR(every.list("heads").items()[i].real("kl"), swept.heads[i].kl,
                  1e-5 * swept.heads[i].kl + 1e-12);
    const std::vector<std::string> texts = {kText};
    const std::vector<LabelledHead> heads = label_heads(ctx, model, texts);
    const io::Json labels = command({"heads", kText});
    ASSERT_EQ(labels.list("heads").items().size(), heads.size());
    for (std::size_t i = 0; i < heads.size(); ++i)
      EXPECT_NEAR(labels.list("heads").items()[i].at("text").real("entropy"), heads[i].text.entropy, 1e-4);
  }
}

TEST_F(SameNumbers, OfWrittenTexts) {
  testing::write_small_model(folder_.path(""), testing::SmallKind::decoder);
  const Model writer = Model::open(folder_.path(""));
  Context ctx({.threads = 1, .activations = Activations::rounded});
  const std::vector<Prompt> prompts = {{.text = kText}};
  const std::vector<GeneratedText> texts =
      generate(ctx, writer, prompts, {.max_tokens = 4, .stop_at_end = false});
  const io::Json told = command({"generate", kText, "--max-tokens", "4", "--ignore-end"});
  serve::Api api(served(folder_.path("")));
  std::string id = start(api);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(told.list("results").items()[0].list("ids").items()[i].integer(), texts[0].ids[i]);
    const serve::Answer next =
        api.answer({.method = "POST", .path = "/api/v1/run/" + id + "/next", .query = "", .body = "{}"});
    ASSERT_EQ(next.status, 200) << next.body;
    const io::Json run = io::Json::parse(next.body, "next");
    id = run.text("id");
    EXPECT_EQ(run.list("more").items().back().integer(), texts[0].ids[i]);
  }
  testing::write_small_model(folder_.path(""), testing::SmallKind::translator);
  const Model translator = Model::open(folder_.path(""));
  const std::vector<std::string> sources = {kText};
  const std::vector<Translation> translations = translate(ctx, translator, sources);
  const io::Json one = command({"translate", kText}), &row = one.list("translations").items()[0];
  EXPECT_EQ(row.text("text"), translations[0].text);
  EXPECT_NEAR(row.real("score"), translations[0].score, 1e-6);
  serve::Api other(served(folder_.path("")));
  const serve::Answer made =
      other.answer({.method = "POST", .path = "/api/v1/run", .query = "", .body = asked()});
  const io::Json written = io::Json::parse(made.body, "run").at("written");
  for (std::size_t i = 0; i < translations[0].ids.size(); ++i)
    EXPECT_EQ(written.list("tokens").items()[i].integer("id"), translations[0].ids[i]);
}

}  // namespace
}  // namespace headlight::cli
