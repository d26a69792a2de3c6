// Texts as tokens and words, and words picked out of them.
#include "inspect/encoded_text.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/small_models.h"

namespace headlight::inspect {
namespace {

using headlight::testing::expect_error;
using headlight::testing::small_tokenizer;

const char* const kStreet = "The animal didn't cross the street because it was too tired.";

std::vector<std::string> labels(const std::vector<Word>& words) {
  std::vector<std::string> out;
  for (const Word& word : words) out.push_back(word.label);
  return out;
}

TEST(EncodedText, LabelsAreTheTextThatTokensStandFor) {
  const EncodedText encoded = read_text(small_tokenizer(), kStreet);
  EXPECT_EQ(encoded.labels(),
            (std::vector<std::string>{"[CLS]", "The", "animal", "didn", "'", "t", "cross", "the", "street",
                                      "because", "it", "was", "too", "ti", "red", ".", "[SEP]"}));
  EXPECT_TRUE(encoded.tokens.front().added);
  EXPECT_FALSE(encoded.tokens[1].added);
  EXPECT_EQ(encoded.ids().size(), 17U);
}

TEST(EncodedText, TwoTextsAreOneReadingWithABorder) {
  const Tokenizer tokenizer = testing::small_tokenizer();
  const EncodedText pair = read_pair(tokenizer, "the cat", "it was tired");
  EXPECT_EQ(pair.text, "the cat / it was tired");
  EXPECT_EQ(pair.labels(),
            (std::vector<std::string>{"[CLS]", "the", "cat", "[SEP]", "it", "was", "ti", "red", "[SEP]"}));
  EXPECT_EQ(pair.second, 4);
  for (const EncodedToken& token : pair.tokens) {
    EXPECT_EQ(token.type, &token - pair.tokens.data() >= 4 ? 1 : 0);
    const std::string part = pair.text.substr(token.begin, token.end - token.begin);
    EXPECT_EQ(part, token.added ? "" : token.label);
  }
  const std::vector<Word> words = words_of(pair);
  EXPECT_EQ(words[words.size() - 2].label, "tired");
  EXPECT_THROW((void)read_pair(tokenizer, "the cat", " "), Error);
  EXPECT_THROW((void)read_pair(tokenizer, "", "it"), Error);
}

TEST(EncodedText, Ids) {
  const Tokenizer tokenizer = small_tokenizer();
  EXPECT_EQ(read_ids(&tokenizer, {5, 6}, 29).labels(), (std::vector<std::string>{"the", "animal"}));
  EXPECT_EQ(read_ids(nullptr, {5, 6}, 29).labels(), (std::vector<std::string>{"#5", "#6"}));
  expect_error(
      [&] {
        (void)read_ids(&tokenizer, {5, 29}, 29);
      },
      ErrorKind::input, "inspect.id", "token id 29 is not between 0 and 28");
  expect_error([&] { (void)read_ids(&tokenizer, {-1}, 29); }, ErrorKind::input, "inspect.id", "token id -1");
  expect_error([&] { (void)read_ids(&tokenizer, {}, 29); }, ErrorKind::input, "inspect.empty",
               "give at least one");
}

TEST(Words, TokensBetweenSpacesBelongTogether) {
  const EncodedText encoded = read_text(small_tokenizer(), kStreet);
  EXPECT_EQ(labels(words_of(encoded)),
            (std::vector<std::string>{"[CLS]", "The", "animal", "didn't", "cross", "the", "street", "because",
                                      "it", "was", "too", "tired", ".", "[SEP]"}));
  EXPECT_EQ(words_of(encoded)[3].tokens, (Range{3, 6}));
  EXPECT_EQ(labels(words_of(read_text(small_tokenizer(), "it, cat! .'."))),
            (std::vector<std::string>{"[CLS]", "it", ",", "cat", "!", ".", "'", ".", "[SEP]"}));
}

TEST(Words, EndAtDashesAndBracketsOfEveryScript) {
  EXPECT_EQ(labels(words_of(read_text(small_tokenizer(), "cat—tired 《it》"))),
            (std::vector<std::string>{"[CLS]", "cat", "—", "tired", "《", "it", "》", "[SEP]"}));
  const EncodedText encoded = read_text(small_tokenizer(), "cat—tired 《it》");
  EXPECT_EQ(pick(encoded, "tired").word.label, "tired");
  EXPECT_EQ(pick(encoded, "it").word.tokens.size(), 1);
  EXPECT_THROW((void)pick(encoded, "ire"), Error);
}

// Written without spaces, as a tokenizer with a piece for each character, a byte of one, or several reads it.
TEST(Words, OfScriptsWithoutSpacesAreTokensOrWholeCharacters) {
  EncodedText encoded{.text = "我爱猫咪cats", .tokens = {}};
  const auto token = [&](const char* label, std::size_t begin, std::size_t end) {
    encoded.tokens.push_back({1, label, begin, end, false});
  };
  token("我", 0, 3);
  token("爱猫", 3, 9);     // a token of two characters stays whole
  token("<0xE5>", 9, 12);  // three tokens for one character are one word
  token("<0x92>", 9, 12);
  token("<0xAA>", 9, 12);
  token("ca", 12, 14);
  token("ts", 14, 16);
  EXPECT_EQ(labels(words_of(encoded)), (std::vector<std::string>{"我", "爱猫", "咪", "cats"}));
  EXPECT_EQ(pick(encoded, "猫").word.tokens, (Range{1, 2}));
  EXPECT_EQ(pick(encoded, "猫咪").word.tokens, (Range{1, 5}));
  EXPECT_EQ(pick(encoded, "我").word.tokens, (Range{0, 1}));
  EXPECT_EQ(pick(encoded, "cats").word.tokens, (Range{5, 7}));
}

TEST(Words, KeepAccentsThatTheTokenizerTakesOff) {
  // "cat" and "tired" with an accent behind and inside; the tokens stand for the letters alone.
  const EncodedText encoded = read_text(small_tokenizer(), "cat\u0301 ti\u0301red.");
  EXPECT_EQ(encoded.labels().size(), 6U);
  EXPECT_EQ(labels(words_of(encoded)),
            (std::vector<std::string>{"[CLS]", "cat\u0301", "ti\u0301red", ".", "[SEP]"}));
}

TEST(Words, CoverEveryTokenOnce) {
  for (const char* text : {kStreet, "", "'", "it", "...it...", "a\tb\nc", "猫 the 猫.", "\xff the"}) {
    const EncodedText encoded = read_text(small_tokenizer(), text);
    Index next = 0;
    for (const Word& word : words_of(encoded)) {
      EXPECT_EQ(word.tokens.begin, next) << text;
      EXPECT_GT(word.tokens.size(), 0) << text;
      next = word.tokens.end;
    }
    EXPECT_EQ(next, encoded.size()) << text;
  }
}

TEST(Pick, ByWordNumberAndPlace) {
  const EncodedText encoded = read_text(small_tokenizer(), kStreet);
  const auto range = [&](const char* what) { return pick(encoded, what).word.tokens; };
  EXPECT_EQ(range("it"), (Range{10, 11}));
  EXPECT_EQ(range("IT"), (Range{10, 11}));
  EXPECT_EQ(range("The"), (Range{1, 2}));
  EXPECT_EQ(range("the"), (Range{7, 8}));  // as it is written comes first
  EXPECT_EQ(range("THE#2"), (Range{7, 8}));
  EXPECT_EQ(range("tired"), (Range{13, 15}));
  EXPECT_EQ(range("red"), (Range{14, 15}));  // a part of a word, by its token
  EXPECT_EQ(range("didn't"), (Range{3, 6}));
  EXPECT_EQ(range("too tired"), (Range{12, 15}));
  EXPECT_EQ(range("."), (Range{15, 16}));
  EXPECT_EQ(range("[CLS]"), (Range{0, 1}));
  EXPECT_EQ(range("@0"), (Range{0, 1}));
  EXPECT_EQ(range("@16"), (Range{16, 17}));
  EXPECT_EQ(pick(encoded, "too tired").word.label, "too tired");
  EXPECT_EQ(pick(encoded, "it").note, "");
}

TEST(Pick, AnAmbiguousWordIsTheFirstAndSaysSo) {
  const EncodedText encoded = read_text(small_tokenizer(), "the cat sat on the mat, the cat");
  const Pick cat = pick(encoded, "cat");
  EXPECT_EQ(cat.word.tokens, (Range{2, 3}));
  EXPECT_EQ(cat.note, "\"cat\" occurs 2 times: using the first (token 2); \"cat#2\" is the next");
  EXPECT_EQ(pick(encoded, "the#3").word.tokens, (Range{8, 9}));
  EXPECT_EQ(pick(encoded, "the cat#2").word.tokens, (Range{8, 10}));
  expect_error([&] { (void)pick(encoded, "cat#3"); }, ErrorKind::usage, "inspect.word",
               "\"cat\" occurs 2 times");
  expect_error([&] { (void)pick(encoded, "cat#0"); }, ErrorKind::usage, "inspect.word",
               "\"cat\" occurs 2 times");
}

TEST(Pick, AWordThatIsNotThereListsThoseThatAre) {
  const EncodedText encoded = read_text(small_tokenizer(), "the cat sat");
  expect_error([&] { (void)pick(encoded, "dog"); }, ErrorKind::usage, "inspect.word",
               "\"dog\" is not in the text\nThe words are: [CLS] the cat sat [SEP]");
  expect_error([&] { (void)pick(encoded, "he"); }, ErrorKind::usage, "inspect.word",
               "\"he\" is not in the text");
  expect_error([&] { (void)pick(encoded, "@9"); }, ErrorKind::usage, "inspect.word",
               "tokens are numbered 0 to 4");
  expect_error([&] { (void)pick(encoded, ""); }, ErrorKind::usage, "inspect.word", "the word is empty");
  expect_error([&] { (void)pick(encoded, "\x1b[31m"); }, ErrorKind::usage, "inspect.word", "\\x1b[31m");
}

}  // namespace
}  // namespace headlight::inspect
