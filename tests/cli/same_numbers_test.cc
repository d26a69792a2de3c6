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
    const serve::Answer made = api.answer({.method = "POST",
                                           .path = "/api/v1/run",
                                           .query = "",
                                           .body = std::string(R"({"text": ")") + kText + "\"}"});
    const std::string id = io::Json::parse(made.body, "run").text("id");
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

}  // namespace
}  // namespace headlight::cli
