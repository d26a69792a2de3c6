// headlight chat, generate --chat and --choices, headlight embed: as users run them, on small models.
#include <fcntl.h>
#include <unistd.h>

#include "support/small_command.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTemplate =
    "{% for m in messages %}{% if m.role == 'robot' %}{{ raise_exception('no robots') }}{% endif %}"
    "{{ m.role }} {{ m.content }} {% endfor %}{% if messages|length > 3 %}{{ raise_exception('that is "
    "enough') }}{% endif %}";

class ChatCommand : public SmallCommand {
 protected:
  ChatCommand() : SmallCommand("chat") {
    std::ofstream(models_.path("en") + "/chat_template.jinja") << kTemplate;
  }

  // What is typed comes from a file.
  [[nodiscard]] Finished chat(Arguments arguments, const std::string& typed) const {
    const std::string file = write("typed.txt", typed);
    arguments.insert(arguments.begin(), "chat");
    Launch launch{.arguments = std::move(arguments)};
    launch.environment.push_back("HEADLIGHT_MODELS=" + models_.root().string());
    launch.in_child = [file] {
      const int input = ::open(file.c_str(), O_RDONLY);
      ::dup2(input, STDIN_FILENO);
    };
    return run_program(launch);
  }
};

TEST_F(ChatCommand, AnswersLineByLine) {
  const Finished two = chat({"--max-tokens", "4"}, "the animal\n/reset\nthe animal\n");
  EXPECT_EQ(two.code, 0) << two.err;
  const std::size_t end = two.out.find('\n');
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(two.out.substr(0, end), two.out.substr(end + 1, end)) << two.out;  // nothing is left of the first
  EXPECT_THAT(two.err, HasSubstr("cut off after 4 tokens"));
  EXPECT_EQ(chat({"--max-tokens", "4"}, "the animal\n/exit\nit was\n").out, two.out.substr(0, end + 1));
}

TEST_F(ChatCommand, ShowsWhatTheAnswerLookedAt) {
  const Finished mean = chat({"--max-tokens", "3"}, "the animal\n/show\n/show 0.1\n");
  EXPECT_EQ(mean.code, 0) << mean.err;
  EXPECT_THAT(mean.out, HasSubstr("mean of"));
  EXPECT_THAT(mean.out, HasSubstr("layer 0, head 1"));
  EXPECT_EQ(chat({}, "/show\n").code, 2);
  EXPECT_THAT(chat({"--max-tokens", "1"}, "it was\n/show 99.1\n").err, HasSubstr("head"));
  EXPECT_THAT(chat({"--max-tokens", "1"}, "it was\n/show two\n").err, HasSubstr("LAYER.HEAD"));
}

TEST_F(ChatCommand, SaysWhatIsWrong) {
  EXPECT_THAT(chat({}, "/dance\n").err, HasSubstr("/dance is not a command"));
  const Finished enough = chat({"--max-tokens", "1", "--system", "be brief"}, "it was\nit was\n");
  EXPECT_EQ(enough.code, 2);
  EXPECT_THAT(enough.err, HasSubstr("that is enough"));
  refused({"--model", "bert"}, "does not generate text");
  std::filesystem::remove(models_.path("en") + "/chat_template.jinja");
  refused({}, "has no chat template", 3);
}

class GenerateChat : public SmallCommand {
 protected:
  GenerateChat() : SmallCommand("generate") {
    std::ofstream(models_.path("en") + "/chat_template.jinja") << kTemplate;
  }
};

TEST_F(GenerateChat, AMessageIsWrittenByTheTemplate) {
  simdjson::dom::parser parser;
  const auto ids = [&](const Arguments& arguments) {
    std::vector<std::int64_t> list;
    for (const auto id : json(parser, arguments)["results"].at(0)["prompt_ids"]) list.push_back(id);
    return list;
  };
  // Without [CLS] and [SEP] of this tokenizer: a template writes its special tokens itself.
  std::vector<std::int64_t> plain = ids({"user the animal ", "--max-tokens", "1"});
  ASSERT_GT(plain.size(), 2U);
  plain.erase(plain.begin());
  plain.pop_back();
  EXPECT_EQ(ids({"the animal", "--chat", "--max-tokens", "1"}), plain);
  EXPECT_EQ(run({"the animal", "--chat", "--max-tokens", "2"}).out.find("the animal"), std::string::npos);
  EXPECT_NE(run({"the animal", "--chat", "--system", "it was", "--max-tokens", "4"}).out, "");
  refused({"the animal", "--system", "x"}, "--system needs --chat");
}

TEST_F(GenerateChat, GenerationConfigIsUsedWithANotice) {
  std::ofstream(models_.path("en") + "/generation_config.json")
      << R"({"do_sample": true, "temperature": 1.7})";
  const Finished drawn = run({"the animal", "--max-tokens", "2"});
  EXPECT_EQ(drawn.code, 0);
  EXPECT_THAT(drawn.err, HasSubstr("generation_config.json: temperature 1.7"));
  EXPECT_EQ(drawn.out, run({"the animal", "--max-tokens", "2", "--temperature", "1.7"}).out);
  EXPECT_EQ(run({"the animal", "--max-tokens", "2", "--temperature", "0"}).err, "");
}

TEST_F(GenerateChat, Choices) {
  simdjson::dom::parser parser;
  const auto root = json(parser, {"the animal", "--choices", " it was, the street"});
  const auto result = root["results"].at(0);
  double sum = 0;
  for (const auto choice : result["choices"]) sum += double(choice["share"]);
  EXPECT_NEAR(sum, 1, 1e-5);
  const Finished lines = run({"the animal", "--choices", " it was, the street"});
  EXPECT_THAT(lines.out, HasSubstr("share"));
  EXPECT_THAT(lines.out, HasSubstr(std::string(std::string_view(result["choice"]))));
  refused({"the animal", "--choices", "yes"}, "two choices");
  refused({"the animal", "--choices", "yes,yes"}, "given twice");
  refused({"the animal", "--choices", "yes,no", "--show"}, "--choices");
}

class EmbedCommand : public SmallCommand {
 protected:
  EmbedCommand() : SmallCommand("embed") {}
};

TEST_F(EmbedCommand, VectorsAsTextJsonAndArrays) {
  const Finished table = run({"the animal", "it was", "--model", "bert"});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("cosine similarity"));
  EXPECT_THAT(table.out, HasSubstr("mean of the tokens' vectors"));
  simdjson::dom::parser parser;
  const auto root =
      json(parser, {"the animal", "--model", "bert", "--normalise", "yes", "--pooling", "first"});
  double length = 0;
  for (const auto x : root["results"].at(0)["vector"]) length += double(x) * double(x);
  EXPECT_NEAR(length, 1, 1e-5);
  EXPECT_EQ(run({"the animal", "--model", "bert", "--npy", folder_.path("out")}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_.path("out") + "/embeddings.npy"));
  refused({"the animal", "--model", "en"}, "is not an encoder");
  refused({"the animal"}, "--model is missing");
  refused({"the animal", "--model", "bert", "--pooling", "sum"}, "mean, first, max, last");
}

}  // namespace
}  // namespace headlight::testing
