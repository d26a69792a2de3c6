// Parts of maps, what is made of several heads, the logit lens, token ids.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "headlight/lens.h"
#include "io/json.h"
#include "serve/api.h"
#include "support/small_models.h"

namespace headlight::serve {
namespace {

using ::testing::HasSubstr;

class ServeMaps : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new testing::TempFolder;
    for (const auto& [name, kind] :
         {std::pair{"en", testing::SmallKind::decoder}, {"ids", testing::SmallKind::decoder}}) {
      std::filesystem::create_directory(folder_->root() / name);
      testing::write_small_model(folder_->path(name), kind);
    }
    std::filesystem::remove(folder_->root() / "ids" / "tokenizer.json");
  }
  static void TearDownTestSuite() { delete folder_; }
  static ApiOptions options() {
    ApiOptions o;
    for (const char* name : {"en", "ids"}) o.models.push_back({name, folder_->path(name)});
    o.token = o.cookie = "t";
    o.corpus = {"the cat sat on the mat", "it was", "the animal was too tired because it sat on the mat"};
    return o;
  }
  Answer get(const std::string& path, const std::string& query = "") {
    return api_.answer(
        {.method = "GET", .path = "/api/v1/run/" + id_ + "/" + path, .query = query, .body = ""});
  }
  Answer post(const std::string& body) {
    return api_.answer({.method = "POST", .path = "/api/v1/run", .query = "", .body = body});
  }
  void run(const std::string& body) {
    const Answer answer = post(body);
    ASSERT_EQ(answer.status, 200) << answer.body;
    info_ = io::Json::parse(answer.body, "run");
    id_ = info_.text("id");
  }
  static std::vector<float> floats(const std::string& bytes) {
    std::vector<float> out(bytes.size() / 4);
    std::memcpy(out.data(), bytes.data(), 4 * out.size());
    return out;
  }

  static testing::TempFolder* folder_;
  Api api_{options()};
  io::Json info_;
  std::string id_;
};
testing::TempFolder* ServeMaps::folder_ = nullptr;

// No weight disappears: each cell is the largest of its square, whatever part is asked for.
TEST_F(ServeMaps, PooledPartsKeepTheLargestWeight) {
  run(R"({"model": "en", "text": "the cat sat on the mat because it was too tired"})");
  const std::size_t n = info_.object("source").list("tokens").items().size();
  const std::vector<float> all = floats(get("decoder/weights.f32").body);
  for (const std::size_t by : {1U, 2U, 3U, 5U})
    for (const auto& [r0, r1, c0, c1] :
         {std::array<std::size_t, 4>{0, n, 0, n}, {2, 9, 1, 7}, {n - 1, n, 0, n}}) {
      const Answer answer = get("decoder/1/0.map", "rows=" + std::to_string(r0) + ":" + std::to_string(r1) +
                                                       "&columns=" + std::to_string(c0) + ":" +
                                                       std::to_string(c1) + "&in=" + std::to_string(by));
      ASSERT_EQ(answer.status, 200) << answer.body;
      const std::vector<float> map = floats(answer.body);
      const std::size_t rows = (r1 - r0 + by - 1) / by, columns = (c1 - c0 + by - 1) / by;
      ASSERT_EQ(map.size(), rows * columns);
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j) {
          float top = NAN;
          for (std::size_t a = r0 + i * by; a < std::min(r1, r0 + (i + 1) * by); ++a)
            for (std::size_t b = c0 + j * by; b < std::min(c1, c0 + (j + 1) * by); ++b) {
              const float w = all[(2 * n + a) * n + b];
              if (!std::isnan(w) && !(w <= top)) top = w;
            }
          const float got = map[i * columns + j];
          ASSERT_TRUE(std::isnan(top) ? std::isnan(got) : got == top) << by << " " << i << " " << j;
        }
    }
}

TEST_F(ServeMaps, PartsOutsideAreRefused) {
  run(R"({"model": "en", "text": "the cat sat"})");
  for (const char* query : {"", "rows=0:2", "rows=0:2&columns=0:99", "rows=0:2&columns=0:2&in=0",
                            "rows=0:2&columns=0:2&in=x", "rows=0:2&columns=0:2&of=x", "rows=2:1&columns=0:2"})
    EXPECT_EQ(get("decoder/0/0.map", query).status, 400) << query;
  EXPECT_EQ(get("decoder/0/0.bin", "query=99").status, 400);
  EXPECT_EQ(get("decoder/0/9.map", "rows=0:2&columns=0:2").status, 400);
  EXPECT_EQ(get("decoder/0/0.other").status, 400);
  EXPECT_EQ(get("decoder/derived.f32", "heads=9.9").status, 400);
  EXPECT_EQ(get("decoder/derived.f32", "heads=1").status, 400);
}

// A head's numbers with one row of weights have that row, and everything else as it was.
TEST_F(ServeMaps, OneRowOfAHead) {
  run(R"({"model": "en", "text": "the cat sat on the mat"})");
  const std::size_t n = info_.object("source").list("tokens").items().size();
  const std::string whole = get("decoder/1/1.bin").body, one = get("decoder/1/1.bin", "query=3").body;
  std::uint32_t length = 0;
  std::memcpy(&length, whole.data(), 4);
  ASSERT_EQ(whole.size() - one.size(), 4 * (n * n - n));
  EXPECT_EQ(one.substr(0, 4 + length), whole.substr(0, 4 + length));
  EXPECT_EQ(one.substr(4 + length, 4 * n), whole.substr(4 + length + 4 * 3 * n, 4 * n));
  EXPECT_EQ(one.substr(4 + length + 4 * n), whole.substr(4 + length + 4 * n * n));
}

TEST_F(ServeMaps, MeanOfHeadsAndRollout) {
  run(R"({"model": "en", "text": "the cat sat on the mat"})");
  const std::size_t n = info_.object("source").list("tokens").items().size();
  const std::vector<float> all = floats(get("decoder/weights.f32").body),
                           mean = floats(get("decoder/derived.f32", "heads=0.1,1.0").body),
                           rollout = floats(get("decoder/derived.f32").body);
  ASSERT_EQ(mean.size(), n * n);
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const float expected = (all[(n + i) * n + j] + all[(2 * n + i) * n + j]) / 2;
      if (j <= i) ASSERT_NEAR(mean[i * n + j], expected, 1e-7);
      else ASSERT_TRUE(std::isnan(mean[i * n + j]));
      if (j <= i) sum += rollout[i * n + j];
    }
    EXPECT_NEAR(sum, 1, 1e-5);  // a product of stochastic matrices
  }
}

// The lens ends with what the model says, and has a prediction for every layer before.
TEST_F(ServeMaps, LensEndsWithThePrediction) {
  run(R"({"model": "en", "text": "the cat sat on the mat"})");
  const io::Json lens = io::Json::parse(get("lens", "position=2").body, "lens"),
                 next = io::Json::parse(get("next", "position=2").body, "next");
  const auto& layers = lens.list("layers").items();
  ASSERT_EQ(layers.size(), 3U);
  const io::Json &last = layers[2].list("tops").items()[0], &own = next.list("tops").items()[0];
  EXPECT_EQ(last.integer("id"), own.integer("id"));
  EXPECT_EQ(last.find("p")->real(), own.find("p")->real());
  for (const io::Json& layer : layers) EXPECT_GT(layer.list("tops").items()[0].find("p")->real(), 0);
  EXPECT_NE(layers[0].list("tops").items()[0].find("logit")->real(), own.find("logit")->real());
  EXPECT_EQ(get("lens", "position=99").status, 400);
  EXPECT_EQ(lens.list("experts").items().size(), 0U);
}

TEST_F(ServeMaps, TextsOfACorpusByTheDistanceOfAHead) {
  const auto ask = [&](const char* body) {
    return api_.answer({.method = "POST", .path = "/api/v1/corpus", .query = "", .body = body});
  };
  const Answer answer =
      ask(R"({"model": "en", "part": "decoder", "layer": 1, "head": 0, "from": 1, "count": 9})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const io::Json json = io::Json::parse(answer.body, "corpus");
  ASSERT_EQ(json.list("found").items().size(), 2U);
  const io::Json& line = json.list("found").items()[1];
  EXPECT_EQ(line.integer("line"), 2);
  run(R"({"model": "en", "text": "the animal was too tired because it sat on the mat"})");
  const std::size_t n = info_.object("source").list("tokens").items().size();
  const std::vector<float> all = floats(get("decoder/weights.f32").body);
  double sum = 0, most = -1, weight = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const double w = all[(2 * n + i) * n + j], share = w * static_cast<double>(i - j);
      if (i >= 3) sum += share;
      if (j > 0 && share > most) {
        most = share;
        weight = w;
      }
    }
  EXPECT_NEAR(line.find("distance")->real(), sum / static_cast<double>(n - 3), 1e-5);
  EXPECT_NEAR(line.find("weight")->real(), weight, 1e-6);
  for (const char* body : {"{}", R"({"model": "en", "part": "cross", "layer": 0, "head": 0, "count": 1})",
                           R"({"model": "en", "part": "decoder", "layer": 9, "head": 0, "count": 1})",
                           R"({"model": "en", "part": "decoder", "layer": 0, "head": 0, "count": 99})"})
    EXPECT_EQ(ask(body).status, 400) << body;
}

TEST_F(ServeMaps, AModelWithoutATokenizerReadsIds) {
  run(R"({"model": "ids", "text": "3 1, 2\n0"})");
  const auto& tokens = info_.object("source").list("tokens").items();
  ASSERT_EQ(tokens.size(), 4U);
  EXPECT_EQ(tokens[0].integer("id"), 3);
  EXPECT_EQ(tokens[3].integer("id"), 0);
  EXPECT_EQ(get("decoder/weights.f32").status, 200);
  EXPECT_NE(io::Json::parse(get("next", "position=3").body, "next").list("tops").items()[0].text("text"), "");
  for (const char* text : {"the cat", "1 -2", "1 999999"}) {
    const Answer answer = post(std::string(R"({"model": "ids", "text": ")") + text + "\"}");
    EXPECT_EQ(answer.status, 400) << text;
    EXPECT_THAT(answer.body, HasSubstr("reads token ids from 0 to"));
  }
}

}  // namespace
}  // namespace headlight::serve
