// headlight generate, as users run it: texts of real models, every option, and what it says to mistakes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "io/json.h"
#include "support/places.h"
#include "support/shared_data.h"
#include "support/small_models.h"
#include "support/subprocess.h"

namespace headlight::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string golden_text(const std::filesystem::path& model) {
  return io::Json::read((model / "golden.json").string()).text("greedy_text");
}

Finished generate(std::vector<std::string> arguments, const std::string& input_file = "/dev/null") {
  arguments.insert(arguments.begin(), "generate");
  // These models are so small that a second thread only waits.
  if (std::find(arguments.begin(), arguments.end(), "--threads") == arguments.end())
    arguments.insert(arguments.end(), {"--threads", "1"});
  Launch launch{.arguments = std::move(arguments)};
  launch.in_child = [input_file] {
    const int fd = ::open(input_file.c_str(), O_RDONLY);
    ::dup2(fd, STDIN_FILENO);
  };
  return run_program(launch);
}

// The model that comes with the program, found by name and without one.
TEST(OurModel, TellsStories) {
  const Finished done = generate({"Once upon a time", "--max-tokens", "24"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, StartsWith("Once upon a time"));
  EXPECT_GT(done.out.size(), 60U);
  EXPECT_EQ(generate({"Once upon a time", "--max-tokens", "24", "--model", "en"}).out, done.out);
  const Finished show = run_program({"show", "The cat sat on the mat.", "--model", "en", "--head", "4.5"});
  EXPECT_EQ(show.code, 0) << show.err;
  EXPECT_THAT(show.out, HasSubstr("cat"));
  const Finished explain =
      run_program({"explain", "The cat sat on the mat.", "--model", "en", "--head", "4.5", "--query", "mat"});
  EXPECT_EQ(explain.code, 0) << explain.err;
}

// They are in the repository: together no more than 32 MB, each with a card, and nothing that training leaves.
TEST(OurModels, AreSmallAndHaveCards) {
  std::uintmax_t bytes = 0;
  int models = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::filesystem::path(source_folder()) / "models")) {
    if (entry.is_regular_file()) bytes += entry.file_size();
    if (!entry.is_directory()) continue;
    ++models;
    for (const char* name :
         {"README.md", "about.txt", "config.json", "curve.svg", "model.safetensors", "tokenizer.json"})
      EXPECT_TRUE(std::filesystem::exists(entry.path() / name)) << entry.path() << " " << name;
    EXPECT_FALSE(std::filesystem::exists(entry.path() / "training.safetensors"));
  }
  EXPECT_EQ(models, 2);
  EXPECT_LE(bytes, 32U << 20);
}

class Stories : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto shared = shared_data();
    small_ = (*shared / "data/models/stories260K").string();
    large_ = (*shared / "data/models/stories15M").string();
  }
  std::string small_, large_;
  TempFolder folder_;
};

HEADLIGHT_SHARED_TEST_F(Stories, AreThoseOfAnotherImplementation) {
  for (const auto& [model, tokens] : {std::pair{small_, "150"}, {large_, "60"}}) {
    const Finished done = generate({"--model", model, "Once upon a time", "--max-tokens", tokens});
    EXPECT_EQ(done.code, 0) << done.err;
    ASSERT_THAT(done.out, EndsWith("\n"));
    const std::string text = done.out.substr(0, done.out.size() - 1);
    EXPECT_GT(text.size(), 180U);
    EXPECT_THAT(golden_text(model), StartsWith(text));
  }
}

HEADLIGHT_SHARED_TEST_F(Stories, AsJson) {
  const Finished done = generate({"--model", small_, "Once upon a time", "--max-tokens", "12", "--json"});
  EXPECT_EQ(done.code, 0) << done.err;
  const io::Json json = io::Json::parse(done.out, "output");
  EXPECT_EQ(json.text("model"), "stories260K");
  ASSERT_EQ(json.list("results").items().size(), 1U);
  const io::Json& story = json.list("results").items()[0];
  EXPECT_EQ(story.text("prompt"), "Once upon a time");
  EXPECT_EQ(story.list("prompt_ids").items()[0].integer(), 1);
  EXPECT_THAT(golden_text(small_), StartsWith("Once upon a time" + story.text("text")));
  EXPECT_EQ(story.text("ended"), "length");
  for (const char* name : {"ids", "tokens", "log_probabilities"})
    EXPECT_EQ(story.list(name).items().size(), 12U) << name;
  for (const io::Json& x : story.list("log_probabilities").items()) {
    EXPECT_LE(x.real(), 0);
    EXPECT_GT(x.real(), -3);  // greedy tokens of a sure model
  }
  // The same into a file, beside the text.
  const Finished both = generate(
      {"--model", small_, "Once upon a time", "--max-tokens", "12", "--json", folder_.path("story.json")});
  EXPECT_THAT(both.out, StartsWith("Once upon a time, there was"));
  EXPECT_EQ(io::Json::read(folder_.path("story.json")).list("results").items()[0].text("text"),
            story.text("text"));
}

// "girl" is several tokens here, and the text before it is not held back.
HEADLIGHT_SHARED_TEST_F(Stories, StopStringsCrossTokens) {
  const std::string before = "Once upon a time, there was a little ";
  for (const std::string stop : {"girl named", "girl", "irl"}) {
    const Finished done = generate(
        {"--model", small_, "Once upon a time", "--max-tokens", "40", "--stop", "nowhere", "--stop", stop});
    EXPECT_EQ(done.out, before + (stop == "irl" ? "g\n" : "\n")) << stop;
  }
  const Finished json =
      generate({"--model", small_, "Once upon a time", "--max-tokens", "40", "--stop", "girl", "--json"});
  EXPECT_EQ(io::Json::parse(json.out, "output").list("results").items()[0].text("ended"), "stop");
}

HEADLIGHT_SHARED_TEST_F(Stories, SeedsChanceAndPenalties) {
  const auto text = [&](std::vector<std::string> more) {
    std::vector<std::string> all = {"--model", small_, "Once upon a time", "--max-tokens", "40"};
    all.insert(all.end(), more.begin(), more.end());
    const Finished done = generate(all);
    EXPECT_EQ(done.code, 0) << done.err;
    return done.out;
  };
  const std::string greedy = text({});
  EXPECT_EQ(text({"--temperature", "1", "--seed", "4"}), text({"--temperature", "1", "--seed", "4"}));
  EXPECT_NE(text({"--temperature", "1", "--seed", "4"}), text({"--temperature", "1", "--seed", "5"}));
  EXPECT_EQ(text({"--temperature", "1", "--top-k", "1"}), greedy);
  EXPECT_EQ(text({"--temperature", "1", "--top-p", "0.0001"}), greedy);
  EXPECT_EQ(text({"--temperature", "1", "--min-p", "1"}), greedy);
  EXPECT_NE(text({"--repetition-penalty", "1.8"}), greedy);
  EXPECT_EQ(text({"--threads", "3"}), greedy);
  EXPECT_EQ("Once upon a time" + text({"--only-new"}), greedy);
}

HEADLIGHT_SHARED_TEST_F(Stories, SeveralPromptsAndPipedText) {
  const auto one = [&](const std::string& prompt) {
    return generate({"--model", small_, prompt, "--max-tokens", "15"}).out;
  };
  const Finished both = generate({"--model", small_, "One day", "The cat", "--max-tokens", "15"});
  EXPECT_EQ(both.out, one("One day") + "\n" + one("The cat"));
  std::ofstream(folder_.path("input")) << "One day\n";
  EXPECT_EQ(generate({"--model", small_, "--max-tokens", "15"}, folder_.path("input")).out, one("One day"));
  // Nothing at all: the model tells what comes to its mind.
  EXPECT_THAT(generate({"--model", small_, "--max-tokens", "15"}).out, StartsWith("Once upon a time"));
}

HEADLIGHT_SHARED_TEST_F(Stories, ShowsWhatEachNewTokenLookedAt) {
  const Finished done =
      generate({"--model", small_, "Once upon a time", "--max-tokens", "5", "--show", "--head", "2.3"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, StartsWith("decoder layer 2, head 3  exact\n,             "));
  EXPECT_THAT(done.out, HasSubstr("\nthere         "));
  EXPECT_THAT(done.out, EndsWith("\n\nOnce upon a time, there was a little\n"));
  EXPECT_THAT(generate({"--model", small_, "Once", "--max-tokens", "1", "--show"}).out,
              StartsWith("decoder layer 4, mean of 8 heads  derived\n"));
}

HEADLIGHT_SHARED_TEST_F(Stories, NeverHalfACharacter) {
  // Wild draws give bytes in any order: what comes out is text all the same.
  const Finished done = generate({"--model", small_, "Once", "--max-tokens", "200", "--temperature", "30",
                                  "--seed", "7", "--ignore-end", "--json"});
  EXPECT_EQ(done.code, 0) << done.err;
  const io::Json json = io::Json::parse(done.out, "output");  // refuses what is not UTF-8
  EXPECT_EQ(json.list("results").items()[0].list("ids").items().size(), 200U);
}

HEADLIGHT_SHARED_TEST_F(Stories, PromptLongerThanTheContext) {
  std::string prompt;
  for (int i = 0; i < 600; ++i) prompt += "cat ";
  const Finished done = generate({"--model", small_, prompt});
  EXPECT_EQ(done.code, 3);
  EXPECT_THAT(done.err, HasSubstr("tokens; the model \"stories260K\" reads at most 512"));
  EXPECT_EQ(done.out, "");
}

class Generate : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const auto& [name, kind] : {std::pair{"writer", SmallKind::decoder},
                                     {"bert", SmallKind::encoder},
                                     {"translator", SmallKind::translator}}) {
      std::filesystem::create_directory(folder_.root() / name);
      write_small_model(folder_.path(name), kind);
    }
  }
  void refused(std::vector<std::string> arguments, int code, const std::string& words) const {
    arguments.insert(arguments.begin(), {"the cat"});
    const Finished done = generate(std::move(arguments));
    EXPECT_EQ(done.code, code) << done.err;
    EXPECT_THAT(done.err, HasSubstr(words));
    EXPECT_EQ(done.out, "");
  }
  TempFolder folder_;
};

TEST_F(Generate, Mistakes) {
  const std::string writer = folder_.path("writer");
  refused({"--model", folder_.path("bert")}, 2, "does not continue texts: it is an encoder\n");
  refused({"--model", folder_.path("bert")}, 2, "headlight show --model");
  refused({"--model", folder_.path("translator")}, 2, "headlight translate --model");
  refused({"--model", "nothing"}, 4, "Headlight does not download");
  refused({"--model", writer, "--temperature", "-1"}, 2, "temperature is -1; need 0 or more");
  refused({"--model", writer, "--temperature", "hot"}, 2, "\"hot\" is not a finite number");
  refused({"--model", writer, "--top-p", "0"}, 2, "top_p is 0");
  refused({"--model", writer, "--stop", ""}, 2, "--stop");
  refused({"--model", writer, "--max-tokens", "0"}, 2, "--max-tokens");
  refused({"--model", writer, "--head", "0.0"}, 2, "--show");
  refused({"--model", writer, "--show", "--head", "2.0"}, 2,
          "--head 2.0: the decoder attention of \"writer\" has layers 0 to 1 and heads 0 to 1 in each");
  refused({"--model", writer, "--show", "--head", "0.0,1.1"}, 2, "one head");
  refused({"--model", writer, "--show", "--json"}, 2, "--json");
  refused({"--model", writer, "--show", "another"}, 2, "one prompt");
  refused({"--model", writer, "--json=the cat"}, 2, "a file name that ends in .json");
  std::ofstream(folder_.path("there.json")) << "{}";
  refused({"--model", writer, "--json", folder_.path("there.json")}, 4, "there.json");
  std::filesystem::remove(folder_.root() / "writer" / "tokenizer.json");
  refused({"--model", writer}, 3, "has no tokenizer");
}

// Without a tokenizer too: ids in, ids out.
TEST_F(Generate, TokenIdsInPlaceOfText) {
  const std::string writer = folder_.path("writer");
  const Finished text =
      generate({"--model", writer, "the cat", "--max-tokens", "6", "--ignore-end", "--json"});
  const io::Json story = io::Json::parse(text.out, "output").list("results").items()[0];
  std::string prompt, fresh;
  for (const io::Json& id : story.list("prompt_ids").items())
    prompt += (prompt.empty() ? "" : ",") + std::to_string(id.integer());
  for (const io::Json& id : story.list("ids").items())
    fresh += (fresh.empty() ? "" : ",") + std::to_string(id.integer());
  std::filesystem::remove(folder_.root() / "writer" / "tokenizer.json");
  const auto ids = [&](std::vector<std::string> more) {
    std::vector<std::string> all = {"--model", writer, "--ids", prompt, "--max-tokens", "6", "--ignore-end"};
    all.insert(all.end(), more.begin(), more.end());
    return generate(all);
  };
  EXPECT_EQ(ids({}).out, prompt + "," + fresh + "\n");
  EXPECT_EQ(ids({"--only-new"}).out, fresh + "\n");
  EXPECT_THAT(ids({"--show"}).out, EndsWith("\n\n" + prompt + "," + fresh + "\n"));
  const io::Json json = io::Json::parse(ids({"--json"}).out, "output").list("results").items()[0];
  EXPECT_EQ(json.list("ids").items().size(), 6U);
  EXPECT_EQ(json.list("tokens").items()[0].text().substr(0, 1), "#");
  refused({"--model", writer, "--ids", "1"}, 2, "--ids takes the place of PROMPT");
  EXPECT_THAT(generate({"--model", writer, "--ids", "100000"}).err,
              HasSubstr("token id 100000 is not between"));
  EXPECT_THAT(generate({"--model", writer, "--ids", "1,x"}).err, HasSubstr("integers separated by commas"));
}

TEST_F(Generate, EndsAtTheContext) {
  const Finished done = generate(
      {"--model", folder_.path("writer"), "the cat", "--max-tokens", "1000", "--ignore-end", "--json"});
  EXPECT_EQ(done.code, 0) << done.err;
  const io::Json story = io::Json::parse(done.out, "output").list("results").items()[0];
  EXPECT_EQ(story.text("ended"), "context");
  // The last token is written and never read.
  EXPECT_EQ(story.list("prompt_ids").items().size() + story.list("ids").items().size(), 41U);
}

TEST_F(Generate, CtrlCEndsTheText) {
  write_small_model(folder_.path("writer"), SmallKind::decoder, {.context = 200000});
  Launch launch{.arguments = {"generate", "--model", folder_.path("writer"), "the cat", "--max-tokens",
                              "200000", "--ignore-end", "--json", folder_.path("cut.json")}};
  launch.in_child = [] {
    const pid_t program = ::getpid();
    if (::fork() != 0) return;
    ::usleep(1'500'000);
    ::kill(program, SIGINT);
    ::_exit(0);
  };
  const Finished done = run_program(launch);
  EXPECT_EQ(done.code, 128 + SIGINT) << done.err;
  EXPECT_THAT(done.out, StartsWith("the cat"));
  EXPECT_THAT(done.out, EndsWith("\n"));
  const io::Json story = io::Json::read(folder_.path("cut.json")).list("results").items()[0];
  EXPECT_EQ(story.text("ended"), "signal");
  EXPECT_EQ("the cat" + story.text("text") + "\n", done.out);
}

}  // namespace
}  // namespace headlight::testing
