// Heads and links changed for the page: the numbers of ablate() and sweep(), and what is refused.
#include "serve/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "headlight/look.h"
#include "io/json.h"
#include "serve/api.h"
#include "support/small_models.h"

namespace headlight::serve {
namespace {

class ServeChanges : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new testing::TempFolder;
    for (const auto& [name, kind] :
         {std::pair{"en", testing::SmallKind::decoder}, {"en-fr", testing::SmallKind::translator}}) {
      std::filesystem::create_directory(folder_->root() / name);
      testing::write_small_model(folder_->path(name), kind);
    }
  }
  static void TearDownTestSuite() { delete folder_; }
  static ApiOptions options() {
    ApiOptions o;
    for (const char* name : {"en", "en-fr"}) o.models.push_back({name, folder_->path(name), "by/path"});
    o.threads = 1;
    return o;
  }
  Answer ask(
      const std::string& method, const std::string& path, const std::string& body,
      const std::string& query = "", std::function<bool()> left = [] { return false; }) {
    return api_.answer({method, "/api/v1/" + path, query, body, std::move(left)});
  }
  std::string run(const std::string& model) {
    const Answer answer =
        ask("POST", "run", R"({"model": ")" + model + R"(", "text": "the cat sat on the mat"})");
    return io::Json::parse(answer.body, "run").text("id");
  }
  io::Json change(const std::string& id, const std::string& body) {
    const Answer answer = ask("POST", "run/" + id + "/change", body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return io::Json::parse(answer.body, "change");
  }

  static testing::TempFolder* folder_;
  Api api_{options()};
};
testing::TempFolder* ServeChanges::folder_ = nullptr;

TEST_F(ServeChanges, EffectsAreThoseOfAblate) {
  const std::string id = run("en");
  Context ctx({.threads = 1});
  const headlight::Run before =
      attend(ctx, Model::open(folder_->path("en")), {.text = "the cat sat on the mat"});
  struct Case {
    std::string body;
    AblationPlan plan;
  };
  const std::vector<Case> cases = {
      {R"("change": "zero", "heads": [[0, 1], [1, 0]])", {.change = Change::zero, .heads = {{0, 1}, {1, 0}}}},
      {R"("change": "mean", "heads": [[0, 0]])", {.change = Change::mean, .heads = {{0, 0}}}},
      {R"("change": "scale", "factor": 0.5, "heads": [[1, 1]])",
       {.change = Change::scale, .heads = {{1, 1}}, .factor = 0.5}},
      {R"("change": "cut-mask", "heads": [[0, 1]], "links": [[4, 6, 1, 3]])",
       {.change = Change::cut_mask, .heads = {{0, 1}}, .links = {{{4, 6}, {1, 3}}}}},
      {R"("change": "cut-weight", "heads": [[0, 1]], "links": [[4, 6, 1, 3]])",
       {.change = Change::cut_weight, .heads = {{0, 1}}, .links = {{{4, 6}, {1, 3}}}}},
  };
  for (const Case& one : cases) {
    const io::Json json = change(id, R"({"part": "decoder", "position": 4, )" + one.body + "}");
    const AblationEffect effect = ablate(ctx, before, one.plan, {.position = 4});
    EXPECT_EQ(json.real("mean_kl"), effect.mean_kl) << one.body;
    EXPECT_GT(effect.mean_kl, 0) << one.body;
    ASSERT_EQ(json.list("tokens").items().size(), effect.tokens.size());
    for (std::size_t i = 0; i < effect.tokens.size(); ++i) {
      const io::Json& token = json.list("tokens").items()[i];
      EXPECT_EQ(token.integer("id"), effect.tokens[i].token);
      EXPECT_EQ(token.real("before"), effect.tokens[i].before);
      EXPECT_EQ(token.real("after"), effect.tokens[i].after);
    }
    // The run with the change has weights of its own, and is found again.
    const std::string changed = json.text("id");
    EXPECT_NE(changed, id);
    const std::string weights = ask("GET", "run/" + changed + "/decoder/weights.f32", "").body;
    EXPECT_EQ(weights.size(), ask("GET", "run/" + id + "/decoder/weights.f32", "").body.size());
    EXPECT_EQ(change(id, R"({"part": "decoder", "position": 4, )" + one.body + "}").text("id"), changed);
  }
}

TEST_F(ServeChanges, LaterLayersLookElsewhere) {
  const std::string id = run("en");
  const io::Json json = change(id, R"({"part": "decoder", "change": "zero", "heads": [[0, 0], [0, 1]]})");
  const std::string base = ask("GET", "run/" + id + "/decoder/weights.f32", "").body,
                    changed = ask("GET", "run/" + json.text("id") + "/decoder/weights.f32", "").body;
  const std::size_t half = base.size() / 2;  // two layers
  EXPECT_EQ(base.substr(0, half), changed.substr(0, half));
  EXPECT_NE(base.substr(half), changed.substr(half));
}

TEST_F(ServeChanges, SweepsSomeHeadsAtATime) {
  const std::string id = run("en-fr");
  Context ctx({.threads = 1});
  const headlight::Run before =
      attend(ctx, Model::open(folder_->path("en-fr")), {.text = "the cat sat on the mat"});
  const SweepResult all = sweep(ctx, before, {.parts = {Part::cross}, .position = 1});
  std::size_t at = 0;
  for (const char* heads : {"[[0, 0], [0, 1]]", "[[1, 0], [1, 1]]"}) {
    const Answer answer =
        ask("POST", "run/" + id + "/sweep",
            R"({"part": "cross", "change": "zero", "position": 1, "heads": )" + std::string(heads) + "}");
    ASSERT_EQ(answer.status, 200) << answer.body;
    const io::Json json = io::Json::parse(answer.body, "sweep");
    EXPECT_EQ(json.object("token").integer("id"), all.token);
    for (const io::Json& head : json.list("heads").items()) {
      EXPECT_EQ(head.integer("layer"), all.heads[at].head.layer);
      EXPECT_EQ(head.integer("head"), all.heads[at].head.head);
      EXPECT_EQ(head.real("kl"), all.heads[at].kl);
      EXPECT_EQ(head.real("log_p"), all.heads[at++].log_probability);
    }
  }
  EXPECT_EQ(at, all.heads.size());
  const Answer gone =
      ask("POST", "run/" + id + "/sweep", R"({"part": "cross", "change": "zero", "heads": [[0, 0], [0, 1]]})",
          "", [] { return true; });
  EXPECT_EQ(gone.status, 499);
}

TEST_F(ServeChanges, RefusesWhatIsNotThere) {
  const std::string id = run("en");
  for (const char* body : {
           R"({})",
           R"({"part": "cross", "change": "zero", "heads": [[0, 0]]})",
           R"({"part": "decoder", "change": "zero", "heads": []})",
           R"({"part": "decoder", "change": "patch", "heads": [[0, 0]]})",
           R"({"part": "decoder", "change": "zero", "heads": [[2, 0]]})",
           R"({"part": "decoder", "change": "zero", "heads": [[0, 0, 0]]})",
           R"({"part": "decoder", "change": "zero", "heads": [[0, 0]], "links": [[0, 1, 0, 1]]})",
           R"({"part": "decoder", "change": "cut-mask", "heads": [[0, 0]]})",
           R"({"part": "decoder", "change": "cut-mask", "heads": [[0, 0]], "links": [[0, 99, 0, 1]]})",
           R"({"part": "decoder", "change": "scale", "factor": -1, "heads": [[0, 0]]})",
           R"({"part": "decoder", "change": "zero", "heads": [[0, 0]], "position": 99})",
           R"({"part": "decoder", "change": "zero", "heads": [[0, 0]], "more": 1})",
       }) {
    EXPECT_EQ(ask("POST", "run/" + id + "/change", body).status, 400) << body;
    EXPECT_EQ(ask("POST", "run/" + id + "/sweep", body).status, 400) << body;
  }
  EXPECT_EQ(ask("GET", "run/" + id + "/change", "").status, 405);
  EXPECT_EQ(ask("GET", "run/" + id + "/sweep", "").status, 405);
}

TEST_F(ServeChanges, LabelsAndLinksAreTheModelApis) {
  const std::string id = run("en");
  Context ctx({.threads = 1});
  const Model model = Model::open(folder_->path("en"));
  const std::vector<std::string> texts = {"the cat sat on the mat"};
  const std::vector<LabelledHead> labels = label_heads(ctx, model, texts);
  const Prompt prompt{.text = texts[0]};
  const std::vector<SimilarHead> like =
      label_heads(ctx, model, std::span(&prompt, 1), {.similar_to = {{Part::decoder, 1, 0}}}).similar.front();
  const io::Json json =
      io::Json::parse(ask("GET", "run/" + id + "/labels", "", "part=decoder").body, "labels");
  ASSERT_EQ(json.list("heads").items().size(), labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto& items = json.list("heads").items()[i].list("battery").items();
    std::vector<std::string> names;
    for (const io::Json& item : items) names.push_back(item.text("label"));
    std::vector<std::string> expected;
    for (const Label label : labels[i].battery.labels)
      if (labels[i].battery.find(label) != nullptr) expected.emplace_back(name_of(label));
    EXPECT_EQ(names, expected);
  }
  const auto& similar = json.list("heads").items()[2].list("similar").items();  // of 1.0
  ASSERT_EQ(similar.size(), 3U);
  for (std::size_t i = 0; i < similar.size(); ++i) {
    EXPECT_EQ(similar[i].integer("layer"), like[i].place.layer);
    EXPECT_EQ(similar[i].integer("head"), like[i].place.head);
    EXPECT_EQ(similar[i].real("cosine"), like[i].cosine);
  }
  const std::vector<LinkScore> links =
      find_links(attend(ctx, model, {.text = texts[0]}), {.link = "mat->cat"}, ctx);
  const io::Json found =
      io::Json::parse(ask("GET", "run/" + id + "/links", "", "part=decoder&link=mat-%3Ecat").body, "links");
  ASSERT_EQ(found.list("heads").items().size(), links.size());
  EXPECT_EQ(found.list("heads").items()[0].real("weight"), links[0].weight);
  EXPECT_EQ(ask("GET", "run/" + id + "/links", "", "part=decoder&link=mat").status, 400);
  EXPECT_EQ(ask("GET", "run/" + id + "/labels", "", "part=cross").status, 400);
  const Answer page = ask("GET", "run/" + id + "/page", "", "part=decoder&layer=1&at=h%3D1.0");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.body, ::testing::HasSubstr("id=\"data\""));
}

}  // namespace
}  // namespace headlight::serve
