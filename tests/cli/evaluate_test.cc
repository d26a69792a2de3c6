// headlight evaluate, as users run it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "io/json.h"
#include "support/shared_data.h"
#include "support/small_models.h"
#include "support/subprocess.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;

class Evaluate : public ::testing::Test {
 protected:
  static Finished run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "evaluate");
    arguments.insert(arguments.end(), {"--threads", "1"});
    return run_program(std::move(arguments));
  }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path(name)) << text;
    return folder_.path(name);
  }
  TempFolder folder_;
};

TEST_F(Evaluate, TableAndJson) {
  write_small_model(folder_.path("small"), SmallKind::decoder);
  const std::string text = file("text", "the animal\n<|endoftext|>\nit was too tired\n<|endoftext|>\n");
  const Finished table = run({text, "--model", folder_.path("small")});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("nats/byte"));
  EXPECT_THAT(table.out, HasSubstr("small"));
  const Finished json =
      run({text, "--model", folder_.path("small"), "--model", folder_.path("small"), "--json", "-"});
  ASSERT_EQ(json.code, 0) << json.err;
  const io::Json results = io::Json::parse(json.out, "json").at("results");
  EXPECT_EQ(results.items()[1].integer("bytes"), 26);
  EXPECT_EQ(results.items()[1].integer("documents"), 2);
  EXPECT_GT(results.items()[0].real("nats_per_byte"), 0.1);
  EXPECT_EQ(results.items()[0].real("nats_per_byte"), results.items()[1].real("nats_per_byte"));
  const io::Json one = io::Json::parse(
      run({text, "--model", folder_.path("small"), "--limit", "1", "--json", "-"}).out, "json");
  EXPECT_EQ(one.at("results").items()[0].integer("bytes"), 10);
}

TEST_F(Evaluate, SaysWhatIsWrong) {
  write_small_model(folder_.path("translator"), SmallKind::translator);
  const std::string text = file("text", "the animal");
  const Finished nothing = run({});  // no file, no pipe
  EXPECT_EQ(nothing.code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("FILE or piped text is required"));
  const Finished missing = run({folder_.path("none")});
  EXPECT_EQ(missing.code, 4);
  EXPECT_THAT(missing.err, HasSubstr("none"));
  const Finished kind = run({text, "--model", folder_.path("translator")});
  EXPECT_EQ(kind.code, 2);
  EXPECT_THAT(kind.err, HasSubstr("does not predict the next token"));
  const Finished empty = run({file("empty", "<|endoftext|>\n")});
  EXPECT_EQ(empty.code, 3);
  EXPECT_THAT(empty.err, HasSubstr("has no text"));
}

// A text without separators is one document, and its reading can be stopped.
TEST_F(Evaluate, CtrlCEndsALongText) {
  write_small_model(folder_.path("small"), SmallKind::decoder, {.layers = 60});  // minutes for all of it
  std::string text;
  while (text.size() < 8'000'000) text += "the animal was too tired ";
  Launch launch{.arguments = {"evaluate", file("long", text), "--model", folder_.path("small"), "--threads",
                              "1", "--json", folder_.path("cut.json")}};
  launch.in_child = [] {
    const pid_t program = ::getpid();
    if (::fork() != 0) return;
    ::sleep(3);
    ::kill(program, SIGINT);
    ::_exit(0);
  };
  const auto begin = std::chrono::steady_clock::now();
  const Finished done = run_program(launch);
  EXPECT_EQ(done.code, 128 + SIGINT) << done.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(40));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("cut.json")));
}

// The larger of two models of one kind is the better one, by bytes.
HEADLIGHT_SHARED_TEST_F(Evaluate, StoriesModels) {
  const auto shared = shared_data();
  const std::string models = (*shared / "data/models").string();
  const Finished done =
      run({(*shared / "data/prose/tinystories-valid.txt").string(), "--model", models + "/stories260K",
           "--model", models + "/stories15M", "--limit", "3", "--json", "-"});
  ASSERT_EQ(done.code, 0) << done.err;
  const io::Json results = io::Json::parse(done.out, "json").at("results");
  EXPECT_NEAR(results.items()[0].real("nats_per_byte"), 0.630, 0.005);
  EXPECT_LT(results.items()[1].real("nats_per_byte"), results.items()[0].real("nats_per_byte"));
}

}  // namespace
}  // namespace headlight::testing
