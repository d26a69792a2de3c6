// Words of a list, and the letters that can become one.
#include "text/known_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/errors.h"

namespace headlight::text {
namespace {

using headlight::testing::expect_error;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(KnownWords, WholeWordsAndTheirBeginnings) {
  const KnownWords words("words.txt", "chat\nchien\n\xC3\xA9t\xC3\xA9\n");
  EXPECT_EQ(words.size(), 3U);
  EXPECT_TRUE(words.contains("chat"));
  EXPECT_FALSE(words.contains("cha"));
  EXPECT_FALSE(words.contains("chats"));
  EXPECT_TRUE(words.begins("ch"));
  EXPECT_TRUE(words.begins("chat"));
  EXPECT_TRUE(words.begins("\xC3\xA9"));
  EXPECT_FALSE(words.begins("chb"));
  EXPECT_FALSE(words.begins("z"));
}

TEST(KnownWords, ReadsRunsOfLettersInLowerCase) {
  OpenWord open;
  std::vector<std::string> ended;
  read_words(open, "L'\xC3\x89T\xC3\x89, peut-\xC3\xAAtre", ended);
  EXPECT_THAT(ended, ElementsAre("l", "\xC3\xA9t\xC3\xA9", "peut"));
  EXPECT_EQ(open.letters, "\xC3\xAAtre");
  ended.clear();
  read_words(open, "s 25th ", ended);  // the word went on
  EXPECT_THAT(ended, ElementsAre("\xC3\xAAtres"));
  ended.clear();
  read_words(open, "h", ended);
  EXPECT_THAT(ended, IsEmpty());
  read_words(open, "5 n", ended);  // a digit later in the run
  EXPECT_THAT(ended, IsEmpty());
  EXPECT_EQ(open.letters, "n");
}

TEST(KnownWords, RefusesOtherFiles) {
  const auto refused = [](const char* lines, const char* code, const char* message) {
    expect_error([&] { const KnownWords words("words.txt", lines); }, ErrorKind::input, code, message);
  };
  refused("", "words.none", "words.txt: the file has no words (line 1)");
  refused("b\na\n", "words.order",
          "words.txt: not in the order of its bytes; sort with LC_ALL=C sort -u (line 2)");
  refused("a\na\n", "words.order",
          "words.txt: not in the order of its bytes; sort with LC_ALL=C sort -u (line 2)");
  refused("a\n\nb\n", "words.line", "words.txt: an empty line; expected one word (line 2)");
  refused("a\n\xFF\n", "words.line", "words.txt: is not UTF-8 (line 2)");
}

}  // namespace
}  // namespace headlight::text
