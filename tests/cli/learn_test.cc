// headlight learn: chapters in the terminal, answers with their exit codes, and where the reader stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/learn/code_lines.h"
#include "draw/text.h"
#include "support/subprocess.h"
#include "support/temp_folder.h"

namespace headlight::testing {
namespace {

using cli::code_lines;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Learn : public ::testing::Test {
 protected:
  [[nodiscard]] Finished run(std::vector<std::string> arguments, const std::string& state = "") const {
    arguments.insert(arguments.begin(), "learn");
    Launch launch{.arguments = std::move(arguments)};
    launch.environment.push_back("XDG_STATE_HOME=" + (state.empty() ? folder_.root().string() : state));
    return run_program(launch);
  }
  void refused(std::vector<std::string> arguments, const std::string& words) const {
    const Finished done = run(std::move(arguments));
    EXPECT_EQ(done.code, 2) << done.err;
    EXPECT_THAT(done.err, HasSubstr(words));
    EXPECT_EQ(done.out, "");
  }
  [[nodiscard]] std::string text_of(const std::string& file) const {
    std::ostringstream text;
    text << std::ifstream(folder_.path(file)).rdbuf();
    return text.str();
  }
  TempFolder folder_;
};

TEST_F(Learn, GoesOnWhereTheReaderStopped) {
  EXPECT_THAT(run({}).out, StartsWith("1. Words as vectors"));
  EXPECT_THAT(run({}).out, StartsWith("2. The dot product"));
  EXPECT_THAT(run({"14"}).out, StartsWith("14. Reading heads"));
  EXPECT_THAT(run({"--list"}).out, HasSubstr("> 15  Why not"));
  EXPECT_THAT(run({"--chapter", "16"}).out, Not(HasSubstr("Next:")));
  EXPECT_THAT(run({}).out, StartsWith("16. Fast attention")) << "the last chapter stays the last";
}

TEST_F(Learn, APlaceThatCannotBeKeptIsNoFailure) {
  for (const std::string state : {"/proc/nowhere", "relative"}) {
    const Finished done = run({}, state);
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(done.err, "");
    EXPECT_THAT(done.out, StartsWith("1. Words as vectors"));
  }
  std::filesystem::create_directory(folder_.root() / "headlight");
  std::ofstream(folder_.root() / "headlight" / "learn") << "99 nonsense";
  EXPECT_THAT(run({}).out, StartsWith("1. Words as vectors"));
  EXPECT_FALSE(std::filesystem::exists("relative"));
}

TEST_F(Learn, HidesAnswersUntilAsked) {
  const std::string shown = run({"2"}).out, revealed = run({"2", "--reveal"}).out;
  EXPECT_THAT(shown, Not(HasSubstr("0.7266")));
  EXPECT_THAT(shown, HasSubstr("learn 2 --exercise 3 --check ANSWER"));
  EXPECT_THAT(shown, HasSubstr("one number with 4 decimals"));
  EXPECT_THAT(revealed, HasSubstr("0.7266"));
  for (const std::string& text : {shown, revealed}) {
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, Not(HasSubstr("<details>")));
    EXPECT_THAT(text, Not(HasSubstr("<!--")));
    EXPECT_THAT(text, Not(HasSubstr("](")));
    EXPECT_THAT(text, HasSubstr("journey · starts = 0.55×0.57 + 0.87×0.85 + 0.66×0.64"));
  }
  EXPECT_THAT(run({"2", "--color", "always"}).out, HasSubstr("\x1b[1m"));
}

TEST_F(Learn, ChaptersFit80Columns) {
  for (int chapter = 1; chapter <= 16; ++chapter)
    for (const bool reveal : {false, true}) {
      std::vector<std::string> arguments = {std::to_string(chapter)};
      if (reveal) arguments.push_back("--reveal");
      std::istringstream lines(run(arguments).out);
      for (std::string line; std::getline(lines, line);)
        EXPECT_LE(draw::display_width(line), 80) << chapter << ": " << line;
    }
}

TEST(CodeLines, AreBrokenWhereTheLanguageAllowsIt) {
  EXPECT_EQ(code_lines("short", "cpp", 20), "short");
  EXPECT_EQ(code_lines("headlight serve --model en --at \"t=The\"", "sh", 34),
            "headlight serve --model en \\\n    --at \"t=The\"");
  EXPECT_EQ(code_lines("  call(first, second, third, fourth);", "cpp", 24),
            "  call(first, second,\n      third, fourth);");
  EXPECT_EQ(code_lines("  call(first, second);  // what it does", "cpp", 30),
            "  // what it does\n  call(first, second);");
  EXPECT_EQ(code_lines("# one two three four", "python", 12), "# one two\n# three four");
  EXPECT_EQ(code_lines("1.0000   2.0000   3.0000", "text", 10), "1.0000   2.0000   3.0000");
  EXPECT_EQ(code_lines("a_single_word_that_is_too_long", "cpp", 10), "a_single_word_that_is_too_long");
}

TEST_F(Learn, ChecksAnswers) {
  const Finished right = run({"2", "--check", "0.3474"});
  EXPECT_EQ(right.code, 0) << right.err;
  EXPECT_EQ(right.out, "Right: 0.3474 (chapter 2, exercise 1)\n");
  const Finished wrong = run({"2", "--check", "0.5"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.out, HasSubstr("Multiply first by first"));
  EXPECT_THAT(wrong.out, HasSubstr("Expected form: one number with 4 decimals"));
  EXPECT_EQ(wrong.err, "");
  EXPECT_EQ(run({"7", "--exercise", "2", "--check", "-0.4161"}).code, 0);
  EXPECT_EQ(run({"10", "--check", "-1.4142 0 0 1.4142"}).code, 0);
  EXPECT_THAT(run({"3", "--exercise", "3", "--check", "0.7311"}).out, HasSubstr("That is temperature 1."));
  EXPECT_EQ(run({"2", "--exercise", "2", "--check", "STARTS"}).code, 0);
  EXPECT_EQ(run({"2", "--exercise", "2", "--check", "one"}).code, 1);
  refused({"2", "--check"}, "error: --check: the value ANSWER is missing\n");
  refused({"2", "--check", "abc"}, "does not have the expected form: one number with 4 decimals");
  refused({"2", "--exercise", "2", "--check", "sat"}, "one of: Your, journey");
  refused({"4", "--check", "0.2264"}, "This is exercise 1; --exercise K checks another one.");
  refused({"2", "--exercise", "4", "--check", "1"}, "chapter 2 has exercises 1 to 3");
}

TEST_F(Learn, RefusesWhatDoesNotGoTogether) {
  refused({"17"}, "CHAPTER");
  refused({"0"}, "CHAPTER");
  refused({"--check", "1"}, "no chapter given");
  refused({"2", "--chapter", "3"}, "give the chapter once");
  refused({"2", "--list", "--numbers"}, "cannot be combined");
  refused({"2", "--seed", "3"}, "--worksheet");
  refused({"2", "--worksheet", "3"}, "selects the chapter");
  refused({"--svg", folder_.path("x.svg")}, "no chapter given");
}

TEST_F(Learn, ListsAllChaptersAndShowsOneExercise) {
  const std::string list = run({"--list"}).out;
  EXPECT_THAT(list, HasSubstr("\n  16  Fast attention"));
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(draw::display_width(line), 80) << line;
  EXPECT_THAT(list, HasSubstr(">  1  Words as vectors"));
  EXPECT_THAT(run({"5", "--exercise", "2"}).out,
              HasSubstr("What is the score when \"one\" looks at \"journey\"?"));
}

TEST_F(Learn, WritesPicturesAndWorksheets) {
  EXPECT_EQ(run({"3", "--svg", folder_.path("three.svg")}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_.path("three.svg")));
  EXPECT_EQ(run({"3", "--svg", folder_.path("three.svg")}).code, 4) << "existing files stay without --force";
  EXPECT_EQ(run({"3", "--svg", folder_.path("three.svg"), "--force"}).code, 0);
  EXPECT_EQ(run({"11", "--svg", folder_.path("eleven.svg")}).code, 0) << "of the default model";
  EXPECT_THAT(text_of("eleven.svg"), HasSubstr("layer 3, head 5"));
  const Finished sheet = run({"--worksheet", "3", "--seed", "7"});
  EXPECT_THAT(sheet.out, StartsWith("Worksheet 3: Softmax   (seed 7)"));
  EXPECT_THAT(sheet.out, HasSubstr("Solutions"));
  EXPECT_EQ(sheet.out, run({"--worksheet", "3", "--seed", "7"}).out);
  EXPECT_NE(sheet.out, run({"--worksheet", "3", "--seed", "8"}).out);
  EXPECT_EQ(run({"--worksheet", "3", "--pdf", folder_.path("sheet.pdf")}).code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_.path("sheet.pdf")));
  EXPECT_TRUE(std::filesystem::exists(folder_.path("sheet-solutions.pdf")));
  Launch here{.arguments = {"learn", "--worksheet", "4", "--seed", "7", "--pdf"}};
  here.in_child = [&] { std::filesystem::current_path(folder_.root()); };
  EXPECT_EQ(run_program(here).code, 0) << "--pdf needs no name";
  EXPECT_THAT(text_of("learn.pdf"), StartsWith("%PDF"));
  EXPECT_THAT(text_of("learn-solutions.pdf"), StartsWith("%PDF"));
}

TEST_F(Learn, GivesItsAnswersAsJson) {
  simdjson::dom::parser parser;
  const Finished done = run({"2", "--json"});
  simdjson::dom::element root;
  ASSERT_EQ(parser.parse(done.out).get(root), simdjson::SUCCESS) << done.out;
  EXPECT_EQ(std::string_view(root["exercises"].at(0)["answer"]), "0.3474");
  EXPECT_NEAR(double(root["exercises"].at(0)["numbers"].at(0)), 0.3474, 5e-5);
}

}  // namespace
}  // namespace headlight::testing
