// headlight heads, as users run it.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/small_command.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const char* const kTree =
    "# text = the cat sat on the mat\n"
    "1\tthe\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tcat\t_\tNOUN\t_\t_\t3\tnsubj\t_\t_\n3\tsat\t_\tVERB\t_\t_"
    "\t0\troot\t_\t_\n"
    "4\ton\t_\tADP\t_\t_\t6\tcase\t_\t_\n5\tthe\t_\tDET\t_\t_\t6\tdet\t_\t_\n6\tmat\t_\tNOUN\t_\t_\t3\tobl\t_"
    "\t_\n\n";

class Heads : public SmallCommand {
 protected:
  Heads() : SmallCommand("heads", {.context = 64}) {}
};

TEST_F(Heads, TableOfAllParts) {
  const Finished done = run({"the cat sat on the mat because it was too tired"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("on the battery: "));
  for (const char* name : {"encoder\nhead", "\ndecoder\n", "\ncross\n", "\n1.1 "})
    EXPECT_THAT(done.out, HasSubstr(name));
  EXPECT_THAT(done.out, HasSubstr("12 heads, on this text: "));
  const Finished one = run({"the cat sat on the mat because it was too tired", "--part", "encoder"});
  EXPECT_THAT(one.out, HasSubstr("4 heads, on this text: "));
  EXPECT_THAT(one.out, Not(HasSubstr("cross")));
}

TEST_F(Heads, JsonHasEveryScore) {
  simdjson::dom::parser parser;
  const auto root = json(parser, {"the cat sat on the mat because the cat was tired", "--model", "en"});
  EXPECT_EQ(root["heads"].get_array().size(), 4U);
  EXPECT_EQ(std::int64_t(root["heads_searched"]), 4);
  const auto head = root["heads"].at(0);
  EXPECT_EQ(std::string_view(head["part"]), "decoder");
  for (const char* where : {"text", "battery"}) {
    const auto f = head[where];
    EXPECT_GT(double(f["entropy"]), 0);
    EXPECT_NEAR(double(f["entropy_bits"]), double(f["entropy"]) / 0.693147, 1e-4);
    EXPECT_GE(double(f["effective_keys"]), 1);
    EXPECT_TRUE(f["patterns"]["next"]["score"].is_null());  // a decoder cannot look ahead
    for (const char* label : {"previous", "first", "duplicate", "broad"})
      EXPECT_GE(double(f["patterns"][label]["score"]), 0) << label;
  }
  EXPECT_TRUE(root["heads"].at(0)["text"]["patterns"]["broad"]["lift"].is_null());
}

TEST_F(Heads, FindAndDetails) {
  simdjson::dom::parser parser;
  std::int64_t found = 0;
  for (const char* label : {"none", "broad", "previous", "first", "local"}) {
    const auto root = json(parser, {"the cat sat on the mat", "--model", "bert", "--find", label});
    for (const simdjson::dom::element head : root["heads"].get_array()) {
      bool has = false;
      for (const char* where : {"text", "battery"})
        for (const simdjson::dom::element given : head[where]["labels"].get_array())
          has |= std::string_view(given) == label;
      EXPECT_TRUE(has) << label;
      ++found;
    }
  }
  EXPECT_GT(found, 0);
  const Finished nobody = run({"the cat sat on the mat", "--model", "en", "--find", "next"});
  EXPECT_THAT(nobody.out, HasSubstr("None of 4 heads is next."));
  const Finished one = run({"the cat sat on the mat", "--model", "bert", "--head", "1.0"});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("encoder layer 1, head 0: "));
  EXPECT_THAT(one.out, HasSubstr("weight on the previous token"));
  EXPECT_THAT(one.out, HasSubstr("similar on the battery"));
}

TEST_F(Heads, CorpusIsReadLineByLine) {
  const std::string corpus =
      write("c.txt", "the cat sat on the mat\n\n<|endoftext|>\nit was too tired , it lives here\n");
  simdjson::dom::parser parser;
  const auto root = json(parser, {"--corpus", corpus, "--model", "en"});
  EXPECT_THAT(std::string(std::string_view(root["read"])), HasSubstr("2 texts of "));
  const std::int64_t rows = std::int64_t(root.at_pointer("/heads/0/text/rows"));
  std::int64_t sum = 0;
  for (const char* text : {"the cat sat on the mat", "it was too tired , it lives here"})
    sum += std::int64_t(json(parser, {text, "--model", "en"}).at_pointer("/heads/0/text/rows"));
  EXPECT_EQ(rows, sum);
  EXPECT_THAT(run({"--corpus", corpus, "--model", "en", "--limit", "1"}).out, HasSubstr("1 text of "));
  std::string words;
  for (int i = 0; i < 90; ++i) words += "cat ";
  EXPECT_THAT(run({"--corpus", write("l.txt", words), "--model", "en"}).err,
              HasSubstr("1 of 1 texts are longer than the context of the model (64 tokens) and were cut"));
  const std::string pairs = write("p.tsv", "the cat sat on the mat\tit was too tired\n");
  EXPECT_THAT(run({"--corpus", pairs}).out, HasSubstr("cross\nhead"));
}

TEST_F(Heads, LinksAreRanked) {
  const Finished done =
      run({"the animal didn't cross the street because it was tired", "--link", "it->animal"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("the most of 4 heads (encoder attention)"));
  EXPECT_THAT(done.out, HasSubstr("uniform"));
  simdjson::dom::parser parser;
  const auto root = json(parser, {"the cat sat on the mat", "--link", "mat->?", "--model", "en"});
  EXPECT_EQ(std::int64_t(root["heads_searched"]), 4);
  EXPECT_FALSE(root.at_pointer("/heads/0/key").is_null());
  const auto cross =
      json(parser, {"the cat sat", "--target", "on the mat", "--link", "mat->cat", "--part", "cross"});
  EXPECT_EQ(std::string_view(cross["part"]), "cross");
  refused({"the cat sat", "--link", "cat->dog"}, "\"dog\" is not in the text");
  refused({"the cat sat", "--link", "cat"}, "is not a link: it->animal");
  refused({"the cat sat", "--link", "cat->sat", "--model", "en"}, "attends only to earlier words");
}

TEST_F(Heads, PairsHaveIntervals) {
  std::string lines;
  for (int i = 0; i < 10; ++i)
    lines += i % 2 == 0 ? "the cat sat because it was tired\tit\tcat\n"
                        : "it was the cat that sat on the mat\tit\tcat\n";
  simdjson::dom::parser parser;
  const std::string path = write("pairs.tsv", lines);
  const auto root = json(parser, {"--pairs", path});
  EXPECT_EQ(std::int64_t(root["pairs"]), 10);
  EXPECT_LE(double(root.at_pointer("/heads/0/low")), double(root.at_pointer("/heads/0/weight")));
  EXPECT_GE(double(root.at_pointer("/heads/0/high")), double(root.at_pointer("/heads/0/weight")));
  EXPECT_FALSE(root["chosen"].is_null());
  EXPECT_THAT(run({"--pairs", path}).out, HasSubstr("Chosen on one half of the links"));
  EXPECT_THAT(run({"--pairs", path, "--limit", "4"}).out, HasSubstr("Too few links"));
  refused({"--pairs", write("bad.tsv", "one column\n")}, "has 1 column (line 1)", 3);
  refused({"--pairs", folder_.path("absent.tsv")}, "absent.tsv", 4);
}

TEST_F(Heads, SimilarHeads) {
  const Finished done = run({"--like", "0.1", "--model", "en"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("Heads like 0.1"));
  simdjson::dom::parser parser;
  EXPECT_EQ(json(parser, {"--like", "0.1", "--model", "en"})["heads"].get_array().size(), 3U);
  refused({"--like", "9.9", "--model", "en"}, "has layers 0 to 1 and heads 0 to 1 in each");
}

TEST_F(Heads, TreesAndPronouns) {
  std::string trees;
  for (int i = 0; i < 50; ++i) trees += kTree;
  const std::string path = write("t.conllu", trees);
  simdjson::dom::parser parser;
  const auto root = json(parser, {"--treebank", path, "--model", "bert"});
  EXPECT_EQ(std::int64_t(root["sentences"]), 50);
  EXPECT_EQ(root["relations"].get_array().size(), 4U);
  EXPECT_THAT(run({"--treebank", path, "--model", "bert"}).out,
              HasSubstr("chosen on one half of the sentences"));
  const Finished both = run({"--treebank", path, "--parallel", path});
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_THAT(both.out, HasSubstr("The links are derived from the two trees, not annotated by hand"));
  std::string gender = "sentid\tsentence\n";
  for (int i = 0; i < 8; ++i)
    gender += std::string("cat") + (i < 4 ? "" : "s") + ".mat.0.x.txt\tthe " + (i < 4 ? "cat" : "cats") +
              " sat on the mat because he was tired .\n";
  const Finished coref = run({"--coref", write("g.tsv", gender), "--model", "en"});
  EXPECT_EQ(coref.code, 0) << coref.err;
  EXPECT_THAT(coref.out, HasSubstr("Pronouns, Winogender: 8 items, 4 heads searched"));
  EXPECT_THAT(coref.out, HasSubstr("the nearest candidate is right in 0.0 %"));
  refused({"--treebank", write("bad.conllu", "1\ta\n")}, "this line has 2 (line 1)", 3);
  refused({"--treebank", write("none.conllu", "")}, "has no sentences", 3);
  refused({"--coref", write("x.csv", "a,b\n")}, "is neither Winograd's collection", 3);
  refused({"--treebank", path, "--parallel", path, "--model", "en"}, "needs an encoder-decoder");
}

TEST_F(Heads, FiguresHaveLabelsBelowTheMaps) {
  const std::string svg = folder_.path("a.svg"), png = folder_.path("a.png");
  const Arguments line = {"the cat sat on the mat", "--model", "bert", "--svg", svg, "--png", png};
  const Finished done = run(line);
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "");
  std::ostringstream text;
  text << std::ifstream(svg).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("Below each map: the label of the head on this text."));
  simdjson::dom::parser parser;
  const auto root = json(parser, {"the cat sat on the mat", "--model", "bert"});
  EXPECT_THAT(text.str(),
              HasSubstr(std::string(std::string_view(root.at_pointer("/heads/0/text/labels/0")))));
  EXPECT_GT(std::filesystem::file_size(png), 1000U);
  EXPECT_EQ(run(line).code, 4);  // never over what is there
}

TEST_F(Heads, WhatANewcomerDoesWrong) {
  refused({"--find", "inductoin"}, "did you mean \"induction\"?");
  refused({"the cat", "--corpus", "x.txt"}, "TEXT and --corpus exclude each other");
  refused({"--corpus", folder_.path("absent.txt")}, "absent.txt", 4);
  refused({"--corpus", write("empty.txt", "\n\n")}, "has no text; need one text per line", 3);
  refused({"--corpus", write("raw.txt", "\xff\xfe\n")}, "is not UTF-8 (line 1)", 3);
  refused({"--link", "a->b", "--like", "0.0"}, "exclude each other; give one of them");
  refused({"--parallel", "x"}, "is the translation of --treebank FILE; give both");
  refused({"--like", "0.0", "--find", "first"}, "select labels");
  refused({"--link", "a->b", "--png", "x.png"}, "draw labels");
  refused({"the cat", "--limit", "3"}, "--limit needs --corpus");
  refused({"the cat", "--head", "7.0", "--model", "en"}, "has layers 0 to 1 and heads 0 to 1 in each");
  refused({"the cat", "--part", "cross", "--model", "en"}, "is a decoder alone");
  refused({"the cat", "--model", "gpt9"}, "Headlight does not download", 4);
}

}  // namespace
}  // namespace headlight::testing
