// The playground's protocol: what a page asks, what it is told, and what is refused.
#include "serve/playground_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "headlight/error.h"
#include "io/json.h"
#include "serve/requests.h"
#include "support/temp_folder.h"

namespace headlight::serve {
namespace {

using ::testing::HasSubstr;

class PlaygroundProtocol : public ::testing::Test {
 protected:
  Answer ask(const std::string& method, std::vector<std::string_view> path, const std::string& body = "{}",
             const std::string& query = "") {
    return api_.answer({.method = method, .path = "", .query = query, .body = body}, path);
  }
  io::Json json(const Answer& answer) {
    EXPECT_EQ(answer.status, 200) << answer.body;
    return io::Json::parse(answer.body, "answer");
  }
  io::Json ended() {
    for (int i = 0; i < 2000; ++i) {
      io::Json run = json(ask("GET", {"1", "frames"}, "", "after=0&state=running"));
      if (run.text("state") != "running") return run;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "too late";
    return {};
  }

  testing::TempFolder folder_;
  std::string saved_;
  PlaygroundApi api_{{.threads = 1,
                      .folder = folder_.path("models"),
                      .saved = [this](const std::string& name, const std::string& folder) {
                        saved_ = name + " " + folder;
                      }}};
};

constexpr const char* kSmall =
    R"({"task": "sort", "layers": 1, "heads": 2, "width": 8, "steps": 12, "positions": false})";

TEST_F(PlaygroundProtocol, OffersTasksPresetsAndRanges) {
  const io::Json offer = json(ask("GET", {}));
  EXPECT_EQ(offer.list("tasks").items().size(), std::size(playground::kToyKinds));
  EXPECT_GE(offer.list("presets").items().size(), 4U);
  EXPECT_EQ(offer.object("ranges").list("layers").items()[1].real(), 4);
  EXPECT_THAT(offer.list("presets").items()[0].text("measured"), HasSubstr("Measured with five seeds: "));
  EXPECT_EQ(offer.object("usual").boolean("residual"), true);
  EXPECT_TRUE(offer.list("runs").items().empty());
}

TEST_F(PlaygroundProtocol, ARunIsFoundAgainWithItsFrames) {
  EXPECT_EQ(json(ask("POST", {}, kSmall)).integer("id"), 1);
  const io::Json run = ended();
  EXPECT_EQ(run.text("state"), "finished");
  EXPECT_EQ(run.object("settings").boolean("positions"), false);
  const auto frames = run.list("frames").items();
  EXPECT_EQ(frames.front().integer("step"), 0);
  EXPECT_EQ(frames.back().integer("step"), 12);
  const std::size_t n = run.list("probes").items()[0].list("ids").items().size();
  EXPECT_EQ(frames.back().text("maps").size(), (2 * n * n + 2) / 3 * 4);  // two heads, in base64
  EXPECT_EQ(json(ask("GET", {})).list("runs").items().size(), 1U);        // what a page finds after a reload

  const io::Json out = json(ask("POST", {"1", "ablate"}, R"({"heads": [[0, 1]]})"));
  EXPECT_EQ(out.real("before"), frames.back().real("accuracy"));
  (void)json(ask("POST", {"1", "probe"}, R"({"text": "2 1 |"})"));
  EXPECT_EQ(ended().list("probes").items().size(), 2U);
  EXPECT_THAT(ask("GET", {"1", "strip"}, "", "format=svg").body, HasSubstr("<svg"));
  EXPECT_THAT(ask("GET", {"1", "strip"}, "", "format=png&theme=dark&head=0.1&palette=grey").body,
              HasSubstr("PNG"));
  EXPECT_THROW((void)ask("GET", {"1", "strip"}, "", "palette=rainbow"), BadRequest);

  EXPECT_EQ(json(ask("POST", {"1", "save"}, R"({"name": "mine"})")).text("name"), "mine");
  EXPECT_EQ(saved_, "mine " + folder_.path("models") + "/mine");
  EXPECT_TRUE(std::filesystem::exists(folder_.path("models/mine/config.json")));
}

TEST_F(PlaygroundProtocol, RefusesInWords) {
  const auto bad = [&](const std::vector<std::string_view>& path, const std::string& body) {
    try {
      return std::to_string(ask("POST", path, body).status);
    } catch (const BadRequest& refused) { return refused.why; } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_THAT(bad({}, R"({"layers": 9})"), HasSubstr("need a whole number from 1 to 4"));
  EXPECT_THAT(bad({}, R"({"layers": 1e300})"), HasSubstr("layers is"));
  EXPECT_THAT(bad({}, R"({"colour": 1})"), HasSubstr("unknown field"));
  EXPECT_THAT(bad({}, R"({"layers": [1]})"), HasSubstr("neither a number"));
  EXPECT_THAT(bad({"1", "pause"}, "{}"), HasSubstr("train it again"));
  (void)json(ask("POST", {}, kSmall));
  (void)ended();
  EXPECT_THAT(bad({"1", "save"}, R"({"name": "../x"})"), HasSubstr("small letters, digits and hyphens"));
  EXPECT_THAT(bad({"1", "ablate"}, R"({"heads": [[0, 9]]})"), HasSubstr("there is no head 0.9"));
  EXPECT_THAT(bad({"1", "ablate"}, R"({"heads": 3})"), HasSubstr("not a list"));
  EXPECT_THAT(bad({"1", "step"}, R"({"steps": 0})"), HasSubstr("1 to 1000"));
  EXPECT_THAT(bad({"1", "probe"}, R"({"text": "zebra"})"), HasSubstr("does not know"));
  EXPECT_EQ(bad({"1", "fly"}, "{}"), "404");
  EXPECT_EQ(ask("GET", {"1", "pause"}).status, 405);
}

}  // namespace
}  // namespace headlight::serve
