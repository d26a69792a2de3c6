// Where words begin and end, in scripts with spaces and without.
#include "text/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace headlight::text {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  for (const ByteSpan span : word_spans(text))
    out.emplace_back(text.substr(span.begin, span.end - span.begin));
  return out;
}

TEST(Words, AreRunsOfLettersMarksAndDigits) {
  EXPECT_THAT(words("cat—quickly"), ElementsAre("cat", "—", "quickly"));
  EXPECT_THAT(words("《world》"), ElementsAre("《", "world", "》"));
  EXPECT_THAT(words(" the  word(s)\n"), ElementsAre("the", "word", "(", "s", ")"));
  EXPECT_THAT(words("l’été «où»"), ElementsAre("l’été", "«", "où", "»"));
  EXPECT_THAT(words("e\u0301te\u0301"), ElementsAre("e\u0301te\u0301"));  // accents of their own
  EXPECT_THAT(words("हिन्दी भाषा"), ElementsAre("हिन्दी", "भाषा"));
  EXPECT_THAT(words("\u00a0?\u202f!"), ElementsAre("?", "!"));
}

TEST(Words, KeepASingleJoinerInside) {
  EXPECT_THAT(words("don't stop-gap 3.14 1,000"), ElementsAre("don't", "stop-gap", "3.14", "1,000"));
  EXPECT_THAT(words("'tis. wait--no"), ElementsAre("'", "tis", ".", "wait", "-", "-", "no"));
}

TEST(Words, OfScriptsWithoutSpacesAreCharacters) {
  EXPECT_THAT(words("猫が好き"), ElementsAre("猫", "が", "好", "き"));
  EXPECT_THAT(words("我有3只cats。"), ElementsAre("我", "有", "3", "只", "cats", "。"));
  EXPECT_THAT(words("ที่"), ElementsAre("ที่"));  // a letter and two marks
}

TEST(Words, SymbolsStandAlone) {
  EXPECT_THAT(words("$5+6"), ElementsAre("$", "5", "+", "6"));
  EXPECT_THAT(words("a\xff"), ElementsAre("a", "\xff"));
  EXPECT_THAT(words("☕\ufe0f👍"), ElementsAre("☕\ufe0f", "👍"));
  EXPECT_TRUE(words("").empty());
}

TEST(Words, EdgesAreWhereSomethingMayBeFound) {
  const auto found = [](std::string_view text, std::string_view part) {
    const std::vector<bool> edges = word_edges(text);
    const std::size_t at = text.find(part);
    return edges[at] && edges[at + part.size()];
  };
  EXPECT_FALSE(found("the", "he"));
  EXPECT_FALSE(found("été", "t"));
  EXPECT_TRUE(found("cat—quickly", "quickly"));
  EXPECT_TRUE(found("well-known", "known"));
  EXPECT_TRUE(found("我爱猫咪", "猫"));
  EXPECT_TRUE(found("我爱猫咪", "爱猫"));
  EXPECT_TRUE(found("《world》", "world"));
  EXPECT_FALSE(found("e\u0301", "e"));
}

TEST(Words, PunctuationOfEveryScript) {
  for (const char* yes : {".", "...", "—", "《", "»?", "$", "،", "。"})
    EXPECT_TRUE(is_punctuation(yes)) << yes;
  for (const char* no : {"", "a", "a.", "猫", " ", "\xff", "☕"}) EXPECT_FALSE(is_punctuation(no)) << no;
  for (const char* yes : {"a", "a.", "7", "猫", "\xff", "é"}) EXPECT_TRUE(has_letter_or_digit(yes)) << yes;
  for (const char* no : {"", ".", " ", "␣", "⏎", "☕", "$—"}) EXPECT_FALSE(has_letter_or_digit(no)) << no;
  EXPECT_EQ(without_outer_spaces("\u3000\n a b\u00a0"), "a b");
  EXPECT_EQ(without_outer_spaces(" \t"), "");
}

}  // namespace
}  // namespace headlight::text
