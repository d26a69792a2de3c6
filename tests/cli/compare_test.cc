// headlight compare, as users run it.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/small_command.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Compare : public SmallCommand {
 protected:
  Compare() : SmallCommand("compare") {}
};

TEST_F(Compare, TheSameTextDiffersNowhere) {
  simdjson::dom::parser parser;
  const auto root = json(parser, {"the cat sat", "the cat sat", "--head", "0.1"});
  for (const simdjson::dom::element row : root["difference"].get_array())
    for (const simdjson::dom::element x : row.get_array()) EXPECT_EQ(double(x), 0);
}

TEST_F(Compare, DifferenceIsBMinusAWordForWord) {
  simdjson::dom::parser parser;
  const auto root = json(parser, {"it was too tired", "it was here", "--head", "1.0"});
  const auto keys = root["keys"].get_array();
  Arguments labels;
  for (const simdjson::dom::element key : keys) labels.emplace_back(std::string_view(key));
  EXPECT_EQ(labels, (Arguments{"[CLS]", "it", "was", "too → here", "- tired", "[SEP]"}));
  EXPECT_TRUE(root.at_pointer("/difference/1/4").is_null());
  EXPECT_TRUE(root.at_pointer("/weights_b/1/4").is_null());
  const double a = double(root.at_pointer("/weights_a/1/2")), b = double(root.at_pointer("/weights_b/1/2"));
  EXPECT_NEAR(double(root.at_pointer("/difference/1/2")), b - a, 1e-7);
  double sum = 0;
  for (const simdjson::dom::element x : root.at_pointer("/weights_a/1").get_array()) sum += double(x);
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST_F(Compare, OneQueryAsBars) {
  const Finished done =
      run({"the cat sat on the mat", "the animal sat on the mat", "--query", "sat", "--head", "0.0"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("B-A"));
  EXPECT_THAT(done.out, HasSubstr("cat → animal"));
  const Finished opposite =
      run({"the cat sat", "the animal sat", "--query", "cat", "--head", "0.0", "--color", "ascii"});
  EXPECT_THAT(opposite.out, HasSubstr("cat"));
  EXPECT_THAT(opposite.out, HasSubstr("exact"));
  EXPECT_THAT(run({"the cat sat", "the animal sat", "--query", "cat"}).err,
              HasSubstr("where the two differ most of 4 heads; --head L.H shows another one"));
}

TEST_F(Compare, MapsAndTheirDifference) {
  const Finished done = run({"the cat sat", "the animal sat", "--head", "0.0", "--color", "ascii"});
  EXPECT_THAT(done.out, HasSubstr("A: headlight-en-fr, encoder layer 0, head 0"));
  EXPECT_THAT(done.out, HasSubstr("B - A"));
  EXPECT_THAT(done.out, HasSubstr("derived: B minus A"));
  const Finished full = run({"the cat sat", "the animal sat", "--head", "0.0", "--color", "256"});
  EXPECT_THAT(full.out, HasSubstr("\x1b[38;5;"));
}

TEST_F(Compare, TwoModels) {
  simdjson::dom::parser parser;
  const auto root = json(
      parser, {"the cat sat", "--model", "en", "--with-model", "en", "--head", "0.0", "--with-head", "1.1"});
  EXPECT_EQ(std::int64_t(root.at_pointer("/b/layer")), 1);
  bool differs = false;
  for (const simdjson::dom::element x : root.at_pointer("/difference/4").get_array())
    differs |= double(x) != 0;
  EXPECT_TRUE(differs);
  EXPECT_TRUE(root.at_pointer("/weights_a/0/1").is_null());  // a decoder does not look ahead
  refused({"the cat", "--model", "bert", "--with-model", "en"},
          "is a decoder alone; its only part is decoder");
}

TEST_F(Compare, CrossAttentionOfTwoTranslations) {
  const Finished done = run({"the cat sat", "--with-model", "en-fr", "--part", "cross", "--target",
                             "on the mat", "--with-target", "the mat", "--head", "0.0", "--color", "ascii"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("query (writing)"));
  EXPECT_THAT(done.out, HasSubstr("- on"));
}

TEST_F(Compare, Figures) {
  const std::string svg = folder_.path("a.svg"), png = folder_.path("a.png"), pdf = folder_.path("a.pdf");
  const Arguments line = {"the cat sat", "the animal sat", "--head", "0.0",   "--svg",
                          svg,           "--png",          png,      "--pdf", pdf};
  const Finished done = run(line);
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "");
  std::ostringstream text;
  text << std::ifstream(svg).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("cat → animal"));
  EXPECT_THAT(text.str(), HasSubstr("B − A"));
  EXPECT_THAT(text.str(), HasSubstr("A: “the cat sat” B: “the animal sat”"));
  EXPECT_GT(std::filesystem::file_size(png), 1000U);
  EXPECT_GT(std::filesystem::file_size(pdf), 1000U);
  EXPECT_EQ(run(line).code, 4);  // never over what is there
}

TEST_F(Compare, WhatANewcomerDoesWrong) {
  refused({}, "nothing to compare; give two texts");
  refused({"the cat"}, "only one text; give a second text, or a second model with --with-model");
  refused({"the cat", "the mat", "--query", "dog"}, "\"dog\" is not in the text");
  refused({"the cat sat", "the cat", "--query", "sat"}, "\"sat\" has no counterpart in B");
  refused({"the cat", "the mat", "--head", "9.9"}, "has layers 0 to 1 and heads 0 to 1 in each");
  refused({"the cat", "the mat", "--head", "0.0,0.1"}, "shows one head");
  refused({"the cat", "the mat", "--with-head", "0.0"}, "needs --head for A");
  refused({"the cat", "the mat", "--with-model", "gpt5"}, "Headlight does not download", 4);
}

}  // namespace
}  // namespace headlight::testing
