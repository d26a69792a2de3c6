// headlight tokenizer and headlight tokenize as people call them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "support/subprocess.h"
#include "support/temp_folder.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Standard input from a file.
Finished run_with_input(std::vector<std::string> arguments, const std::string& file) {
  return run_program(Launch{.arguments = std::move(arguments), .in_child = [file] {
                              const int fd = ::open(file.c_str(), O_RDONLY);
                              (void)::dup2(fd, STDIN_FILENO);
                            }});
}

class TokenizerCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream text(folder_.path("text.txt"));
    for (int i = 0; i < 50; ++i) text << "The cat sat on the mat. Été là, naïve café!\n";
    text.close();
    std::ofstream(folder_.path("pairs.tsv")) << "one two\tun deux\none three\tun trois\n";
  }
  std::string train(std::vector<std::string> more, const std::string& name) {
    std::vector<std::string> all = {"tokenizer", "train", "-o", folder_.path(name)};
    all.insert(all.end(), more.begin(), more.end());
    const Finished done = run_program(all);
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.out, HasSubstr("tokens from"));
    return folder_.path(name);
  }
  TempFolder folder_;
};

TEST_F(TokenizerCommand, TrainsEveryKindTheSameTwice) {
  for (const std::string kind : {"bpe", "unigram", "wordpiece", "characters", "bytes"}) {
    const std::vector<std::string> call = {"--kind", kind, "--vocab", "300", folder_.path("text.txt")};
    const std::string first = train(call, kind + "1"), second = train(call, kind + "2");
    EXPECT_EQ(contents(first + "/tokenizer.json"), contents(second + "/tokenizer.json"));
    const Finished ids =
        run_program({"tokenizer", "encode", "--tokenizer", first, "--ids", "The cat sat là"});
    ASSERT_EQ(ids.code, 0) << ids.err;
    const Finished text = run_program({"tokenizer", "decode", "--tokenizer", first, ids.out});
    EXPECT_EQ(text.out, "The cat sat là\n") << kind;
  }
}

TEST_F(TokenizerCommand, CellsOfTablesAreTexts) {
  const std::string folder = train({"--kind", "characters", folder_.path("pairs.tsv")}, "t");
  EXPECT_THAT(contents(folder + "/tokenizer.json"), Not(HasSubstr("\\t")));
}

TEST_F(TokenizerCommand, ShowsTokensWithTheirPlaces) {
  const std::string folder = train({"--vocab", "400", folder_.path("text.txt")}, "t");
  const Finished table = run_program({"tokenizer", "encode", "--tokenizer", folder, "The naïve cat"});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("for 13 characters"));
  EXPECT_THAT(table.out, HasSubstr("“ cat”"));
  EXPECT_THAT(table.out, HasSubstr("9-13"));
  EXPECT_THAT(table.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(run_program({"tokenizer", "encode", "--tokenizer", folder, "--color", "always", "cat"}).out,
              HasSubstr("\x1b["));
  const Finished json = run_program({"tokenizer", "encode", "--tokenizer", folder, "--json", "naïve"});
  EXPECT_THAT(json.out, HasSubstr(R"("decoded": "naïve"})"));
  const Finished piped =
      run_with_input({"tokenizer", "encode", "--tokenizer", folder, "--ids"}, folder_.path("text.txt"));
  EXPECT_EQ(piped.code, 0);
  EXPECT_GT(piped.out.size(), 100U);
}

TEST_F(TokenizerCommand, TokenizesLinesOfJson) {
  const std::string folder =
      train({"--around", "<s> $A </s>", folder_.path("text.txt"), "--vocab", "300"}, "t");
  std::ofstream(folder_.path("in.jsonl")) << "{\"text\": \"cat\"}\n\n{\"text\": \"é\\u0000\"}\n";
  const Finished done =
      run_program({"tokenize", "--model", folder, "--jsonl", "--no-special", folder_.path("in.jsonl")});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(std::count(done.out.begin(), done.out.end(), '\n'), 2);
  EXPECT_THAT(done.out, HasSubstr(R"("offsets": [[0, 1], [1, 2]], "decoded": "é\u0000"})"));
  EXPECT_THAT(run_with_input({"tokenize", "--model", folder, "--jsonl"}, folder_.path("in.jsonl")).out,
              HasSubstr("\"<s>\", "));
  std::ofstream(folder_.path("bad.jsonl")) << "{\"text\": \"cat\"}\n{\"txt\": 1}\n";
  const Finished bad = run_program({"tokenize", "--model", folder, "--jsonl", folder_.path("bad.jsonl")});
  EXPECT_EQ(bad.code, 3);
  EXPECT_THAT(bad.first_error_line(), HasSubstr("line 2"));
}

TEST_F(TokenizerCommand, RefusesWithTheRightCode) {
  const std::string text = folder_.path("text.txt"), out = folder_.path("o");
  const auto code = [](std::vector<std::string> arguments) {
    const Finished done = run_program(std::move(arguments));
    EXPECT_EQ(done.err.rfind("error: ", 0), 0U) << done.err;
    return done.code;
  };
  EXPECT_EQ(code({"tokenizer"}), 2);
  EXPECT_EQ(code({"tokenizer", "train", text}), 2);
  EXPECT_EQ(code({"tokenizer", "train", "-o", out}), 2);
  EXPECT_EQ(code({"tokenizer", "train", text, "-o", out, "--kind", "magic"}), 2);
  EXPECT_EQ(code({"tokenizer", "train", text, "-o", out, "--vocab", "0"}), 2);
  EXPECT_EQ(code({"tokenizer", "train", text, "-o", out, "--vocab", "10"}), 2);
  EXPECT_EQ(code({"tokenizer", "train", text, "-o", out, "--special", "<a>,,<b>"}), 2);
  EXPECT_EQ(code({"tokenizer", "train", folder_.path("none.txt"), "-o", out}), 4);
  std::ofstream(folder_.path("empty.txt")).close();
  EXPECT_EQ(code({"tokenizer", "train", folder_.path("empty.txt"), "-o", out}), 3);
  EXPECT_EQ(code({"tokenizer", "encode", "--tokenizer", folder_.path("none"), "x"}), 4);
  EXPECT_EQ(code({"tokenizer", "encode", "--tokenizer", text, "x"}), 3);
  const std::string folder = train({text}, "t");
  EXPECT_EQ(code({"tokenizer", "train", text, "-o", folder}), 4);
  EXPECT_EQ(run_program({"tokenizer", "train", text, "-o", folder, "--force"}).code, 0);
  EXPECT_EQ(code({"tokenizer", "decode", "--tokenizer", folder, "5", "99999999"}), 2);
  EXPECT_EQ(code({"tokenizer", "decode", "--tokenizer", folder, "five"}), 2);
  EXPECT_EQ(code({"tokenizer", "encode", "--tokenizer", folder, "--ids", "--json", "x"}), 2);
  for (const std::string command : {"train", "encode", "decode"})
    EXPECT_THAT(run_program({"tokenizer", command, "--help"}).out, HasSubstr("EXAMPLES"));
}

}  // namespace
}  // namespace headlight::testing
