#include "text/conllu.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace headlight::text {
namespace {

using testing::expect_error;

std::string word(const std::string& id, const std::string& form, const std::string& head,
                 const std::string& relation = "dep", const std::string& misc = "_") {
  return id + "\t" + form + "\t_\tNOUN\t_\t_\t" + head + "\t" + relation + "\t_\t" + misc + "\n";
}

void refused(const std::string& text, const std::string& words) {
  expect_error([&] { (void)parse_conllu(text, "t.conllu"); }, ErrorKind::input, "conllu.line", words);
}

TEST(Conllu, WordsStandWhereTheTextHasThem) {
  const auto trees = parse_conllu(
      "# sent_id = s1\r\n# parallel_id = p1\n# text = Il va au parc.\n" + word("1", "Il", "2", "nsubj:pass") +
          word("2", "va", "0", "root") + "3-4\tau\t_\t_\t_\t_\t_\t_\t_\t_\n" + word("3", "à", "5", "case") +
          word("4", "le", "5", "det") + "4.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n" +
          word("5", "parc", "2", "obl", "SpaceAfter=No") + word("6", ".", "2", "punct"),
      "t");
  ASSERT_EQ(trees.size(), 1U);
  const Tree& tree = trees[0];
  EXPECT_EQ(tree.id, "s1");
  EXPECT_EQ(tree.parallel_id, "p1");
  ASSERT_EQ(tree.words.size(), 6U);
  EXPECT_EQ(tree.words[0].relation, "nsubj");
  EXPECT_EQ(tree.words[0].head, 1);
  EXPECT_EQ(tree.words[1].head, -1);
  EXPECT_EQ(tree.words[2].begin, 6U);  // both parts of "au"
  EXPECT_EQ(tree.words[3].begin, 6U);
  EXPECT_EQ(tree.words[3].end, 8U);
  EXPECT_EQ(tree.text.substr(tree.words[4].begin, 4), "parc");
  EXPECT_EQ(tree.words[5].begin, 13U);
}

TEST(Conllu, ATextIsMadeWhereThereIsNone) {
  const auto trees = parse_conllu(word("1", "So", "0") + word("2", "it", "1", "x", "a=b|SpaceAfter=No") +
                                      word("3", ".", "1") + "\n\n" + word("1", "Next", "0"),
                                  "t");
  ASSERT_EQ(trees.size(), 2U);
  EXPECT_EQ(trees[0].text, "So it.");
  EXPECT_EQ(trees[1].text, "Next");
  EXPECT_TRUE(parse_conllu("", "t").empty());
  EXPECT_TRUE(parse_conllu("# only a remark\n", "t").empty());
}

TEST(Conllu, MistakesAreNamedWithTheirLine) {
  refused("1\ta\tb\n", "has 10 columns with tabs between; this line has 3 (line 1)");
  refused(word("1", "a", "0") + word("3", "b", "1"), "word number \"3\" where 2 should be (line 2)");
  refused(word("x", "a", "0"), "word number \"x\" where 1 should be");
  refused(word("1", "a", "two"), "head \"two\" is not a number (line 1)");
  refused(word("1", "a", "-1"), "is not a number");
  refused(word("1", "a", "5"), "head 5 in a sentence of 1 words (line 1)");
  refused(word("1", "a", "2") + word("2", "b", "1"), "heads form a cycle");
  refused(word("1", "a", "1"), "heads form a cycle (line 1)");
  refused(word("1", "", "0"), "a word without a form");
  refused(word("1", "a", "0", ""), "a word without a relation");
  refused("# text = b\n" + word("1", "a", "0"), "\"a\" is not the next word of \"# text = b\" (line 2)");
  refused(word("1", "\xff", "0"), "is not UTF-8 (line 1)");
  refused("2-3\tab\t_\t_\t_\t_\t_\t_\t_\t_\n", "does not name words that follow");
  refused("1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n" + word("1", "a", "0"), "words of a range are missing");
  refused(word("99999999999999999999", "a", "0"), "where 1 should be");
  std::string many;
  for (int i = 1; i <= 4097; ++i) many += word(std::to_string(i), "a", "0");
  refused(many, "more than 4096 words (line 4097)");
}

TEST(Conllu, DeepTreesAreReadInLinearTime) {
  std::string chain;
  for (int i = 1; i <= 4096; ++i)
    chain += word(std::to_string(i), "a", std::to_string(i == 4096 ? 0 : i + 1));
  EXPECT_EQ(parse_conllu(chain, "t")[0].words.size(), 4096U);
}

}  // namespace
}  // namespace headlight::text
