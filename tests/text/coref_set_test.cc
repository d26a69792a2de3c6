#include "text/coref_set.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace headlight::text {
namespace {

using testing::expect_error;

const std::string kGap =
    "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n";

std::string_view at(const CorefItem& item, const ByteSpan& span) {
  return std::string_view(item.text).substr(span.begin, span.end - span.begin);
}

std::string schema(const std::string& inner) {
  return "<?xml version=\"1.0\"?>\n<collection>\n" + inner + "</collection>\n";
}
const std::string kTrophy =
    "<schema><text><txt1>The trophy doesn't fit into the\n brown suitcase because</txt1> <pron> it </pron>"
    "<txt2> is too &quot;large&#x22;. </txt2></text><quote><pron>it</pron></quote>"
    "<answers><answer>the trophy</answer><answer>The brown suitcase </answer></answers>"
    "<correctAnswer> A. </correctAnswer><source>x</source></schema>\n";

TEST(CorefSet, WinogradSchemas) {
  const CorefSet set = parse_coref(schema(kTrophy + "<!-- remark -->"), "w.xml");
  ASSERT_EQ(set.items.size(), 1U);
  const CorefItem& item = set.items[0];
  EXPECT_EQ(item.text, "The trophy doesn't fit into the brown suitcase because it is too \"large\".");
  EXPECT_EQ(at(item, item.pronoun), "it");
  EXPECT_EQ(at(item, item.candidates[0]), "The trophy");
  EXPECT_EQ(at(item, item.candidates[1]), "the brown suitcase");
  EXPECT_EQ(item.right, 0U);
}

TEST(CorefSet, SchemasWhoseAnswersAreNotThereAreLeftOut) {
  std::string other = kTrophy;
  other.replace(other.find("the trophy<"), 10, "the vessel");
  EXPECT_EQ(parse_coref(schema(other), "w.xml").left_out, 1U);
}

TEST(CorefSet, BrokenXmlIsRefusedByLine) {
  const auto refused = [](const std::string& text, const std::string& words) {
    expect_error([&] { (void)parse_winograd(text, "w.xml"); }, ErrorKind::input, "coref.xml", words);
  };
  refused("<collection>\n<schema>\n</collection>", "</collection> closes no open element (line 3)");
  refused("<collection>", "<collection> is not closed");
  refused("<collection><schema", "\">\" is missing");
  refused(schema("<schema></schema>"), "a schema needs <text/txt1> once (line 3)");
  refused(schema("<other></other>"), "is not <collection> with <schema> in it");
  refused("<!DOCTYPE x [<!ENTITY a \"b\">]>", "which is not read");
  refused("<a b=\"c\"></a>", "is not the name of an element");
  refused("words", "text outside of all elements");
  refused("<a>&lol;</a>", "\"&lol;\" is not a valid character");
  refused("<a>&#0;</a>", "is not a valid character");
  refused("<a>\xff</a>", "is not UTF-8");
  std::string deep;
  for (int i = 0; i < 20; ++i) deep += "<a>";
  refused(deep, "too deep");
  std::string wrong = kTrophy;
  wrong.replace(wrong.find(" A. "), 4, " C. ");
  refused(schema(wrong), "2 answers of which \"C.\" is right");
}

TEST(CorefSet, WinogenderSentences) {
  const CorefSet set = parse_coref(
      "sentid\tsentence\n"
      "technician.customer.1.male.txt\tThe technician told the customer that he could pay with cash.\n"
      "technician.customer.0.female.txt\tThe technician told the customer that she had completed the "
      "repair.\n"
      "technician.customer.0.female.txt\tShe told the customer that she was here.\n",
      "w.tsv");
  ASSERT_EQ(set.items.size(), 2U);
  EXPECT_EQ(set.left_out, 1U);  // two pronouns
  EXPECT_EQ(at(set.items[0], set.items[0].pronoun), "he");
  EXPECT_EQ(at(set.items[0], set.items[0].candidates[set.items[0].right]), "customer");
  EXPECT_EQ(at(set.items[1], set.items[1].candidates[set.items[1].right]), "technician");
  EXPECT_EQ(set.items[0].group, set.items[1].group);
  expect_error([] { (void)parse_coref("sentid\tsentence\na.b.2.c.txt\tx", "w.tsv"); }, ErrorKind::input,
               "coref.line", "is not JOB.OTHER.0.WHO.txt or JOB.OTHER.1.WHO.txt (line 2)");
  expect_error([] { (void)parse_coref("sentid\tsentence\nx\n", "w.tsv"); }, ErrorKind::input, "coref.line",
               "has 2 columns; this one has 1 (line 2)");
}

TEST(CorefSet, GapCountsCharacters) {
  const CorefSet set =
      parse_coref(kGap + "d-1\tZoë met Ann, and she smiled.\tshe\t17\tZoë\t0\tFALSE\tAnn\t8\tTRUE\tu\n" +
                      "d-2\tZoë met Ann, and she smiled.\tshe\t17\tZoë\t0\tFALSE\tAnn\t8\tFALSE\tu\n",
                  "g.tsv");
  ASSERT_EQ(set.items.size(), 1U);
  EXPECT_EQ(set.left_out, 1U);  // neither is meant
  EXPECT_EQ(at(set.items[0], set.items[0].pronoun), "she");
  EXPECT_EQ(at(set.items[0], set.items[0].candidates[1]), "Ann");
  EXPECT_EQ(set.items[0].right, 1U);
  const auto refused = [](const std::string& line, const std::string& words) {
    expect_error([&] { (void)parse_coref(kGap + line, "g.tsv"); }, ErrorKind::input, "coref.line", words);
  };
  refused("a\tb", "has 11 columns; this one has 2 (line 2)");
  refused("d\tAnn met Zoë.\tshe\t3\tAnn\t0\tTRUE\tZoë\t8\tFALSE\tu", "\"she\" is not at character 3");
  refused("d\tAnn met Zoë.\tmet\tx\tAnn\t0\tTRUE\tZoë\t8\tFALSE\tu", "offset \"x\" is not a number");
  refused("d\tAnn met Zoë.\tmet\t4\tAnn\t0\tmaybe\tZoë\t8\tFALSE\tu", "neither TRUE nor FALSE");
  refused("d\tAnn\tAnn\t99999999999\tAnn\t0\tTRUE\tAnn\t0\tFALSE\tu", "is not at character");
  expect_error([] { (void)parse_coref("a,b\n1,2\n", "x.csv"); }, ErrorKind::input, "coref.line",
               "is neither Winograd's collection (XML) nor Winogender's sentences nor GAP");
  expect_error([] { (void)parse_coref("", "x.csv"); }, ErrorKind::input, "coref.line",
               "its first line matches none of them");
}

TEST(CorefSet, WordsAreFoundWhole) {
  const std::string text = "the other man and the man";
  EXPECT_EQ(find_words(text, "The man", 12), (ByteSpan{18, 25}));
  EXPECT_EQ(find_words(text, "the", 10), (ByteSpan{0, 3}));
  EXPECT_EQ(find_words(text, "he", 25), ByteSpan{});
  EXPECT_EQ(find_words(text, "", 5), ByteSpan{});
}

}  // namespace
}  // namespace headlight::text
