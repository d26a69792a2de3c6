// UTF-8 from anywhere, and what Unicode says of characters.
#include "text/unicode.h"

#include <gtest/gtest.h>

#include "text/normalizer.h"

namespace headlight::text {
namespace {

std::string normalized(UnicodeForm form, std::string_view text) { return Normalizer({form}).apply(text); }

TEST(Utf8, IllFormedBytesBecomeOneReplacementPerMaximalPart) {
  // The examples of the Unicode standard, table 3-8 and following.
  EXPECT_EQ(to_well_formed("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"
            "A");
  EXPECT_EQ(to_well_formed("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"
            "A");
  EXPECT_EQ(to_well_formed("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD"
            "A");
  EXPECT_EQ(to_well_formed("caf\xE9"), "caf\uFFFD");
  EXPECT_EQ(to_well_formed("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(to_well_formed("plain \u00E9 \U0001F600"), "plain \u00E9 \U0001F600");
}

TEST(Utf8, EveryCharacterGoesThroughAndBack) {
  for (char32_t code = 0; code < 0x110000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    const std::string text = to_utf8(code);
    const Character back = character_at(text, 0);
    ASSERT_EQ(back.code, code);
    ASSERT_EQ(back.length, text.size());
    ASSERT_EQ(length_from(text[0]), text.size());
    ASSERT_TRUE(is_well_formed(text));
  }
}

TEST(Unicode, ClassesOfCharacters) {
  EXPECT_EQ(classes_of('a'), kLetter);
  EXPECT_EQ(classes_of(U'é'), kLetter);
  EXPECT_EQ(classes_of(U'語'), kLetter);
  EXPECT_EQ(classes_of('7'), kNumber);
  EXPECT_EQ(classes_of(U'½'), kNumber);
  EXPECT_EQ(classes_of(' '), kSpace);
  EXPECT_EQ(classes_of('\n'), kSpace | kNewline | kControl);
  EXPECT_EQ(classes_of(U'\u2003'), kSpace);
  EXPECT_EQ(classes_of(U'\u200B'), kControl);  // zero width space is no White_Space
  EXPECT_EQ(classes_of('!'), kPunctuation);
  EXPECT_EQ(classes_of('+'), 0);
  EXPECT_EQ(classes_of(U'\u0301'), kMark | kNonspacing);
  EXPECT_EQ(classes_of(U'\U0001F600'), 0);
  EXPECT_TRUE(is_word_character('_'));
  EXPECT_TRUE(is_word_character(U'\u0301'));
  EXPECT_FALSE(is_word_character(U'½'));
}

TEST(Unicode, LowerCase) {
  const auto lower = [](char32_t code) {
    std::string text;
    append_lowercase(text, code);
    return text;
  };
  EXPECT_EQ(lower('A'), "a");
  EXPECT_EQ(lower(U'É'), "é");
  EXPECT_EQ(lower(U'ẞ'), "ß");
  EXPECT_EQ(lower(U'İ'), "i\u0307");
  EXPECT_EQ(lower(U'Σ'), "σ");
}

TEST(UnicodeForms, KnownAnswers) {
  EXPECT_EQ(normalized(UnicodeForm::nfc, "cafe\u0301"), "caf\u00E9");
  EXPECT_EQ(normalized(UnicodeForm::nfd, "caf\u00E9"), "cafe\u0301");
  EXPECT_EQ(normalized(UnicodeForm::nfc, "q\u0307\u0323"), "q\u0323\u0307");  // marks are put in order
  EXPECT_EQ(normalized(UnicodeForm::nfc, "\u1E9B\u0323"), "\u1E9B\u0323");
  EXPECT_EQ(normalized(UnicodeForm::nfkc, "\u1E9B\u0323"), "\u1E69");
  EXPECT_EQ(normalized(UnicodeForm::nfkd, "\u1E9B\u0323"), "s\u0323\u0307");
  EXPECT_EQ(normalized(UnicodeForm::nfkc, "ＦＵＬＬ ﬁ ½ ²"), "FULL fi 1\u20442 2");
  EXPECT_EQ(normalized(UnicodeForm::nfd, "한국"), "\u1112\u1161\u11AB\u1100\u116E\u11A8");
  EXPECT_EQ(normalized(UnicodeForm::nfc, "\u1112\u1161\u11AB\u1100\u116E\u11A8"), "한국");
  EXPECT_EQ(normalized(UnicodeForm::nfc, "\u0958"), "\u0915\u093C");  // excluded from composition
  EXPECT_EQ(normalized(UnicodeForm::nfc, "\u0344"), "\u0308\u0301");
  EXPECT_EQ(normalized(UnicodeForm::nfc, "\u212B"), "\u00C5");
}

TEST(UnicodeForms, ALongRunOfMarksTakesNoSquareOfTime) {
  std::string text = "a";
  for (int i = 0; i < 200'000; ++i) text += i % 2 == 0 ? "\u0307" : "\u0323";
  EXPECT_EQ(normalized(UnicodeForm::nfc, text).size(),
            text.size() - 0 + std::string("\u1EA1").size() - 1 - 2);
}

}  // namespace
}  // namespace headlight::text
