// Hand-written scanners against the expressions they stand for; and expressions that misbehave.
#include "text/pattern.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/random.h"
#include "support/sanitizers.h"
#include "support/work_time.h"

namespace headlight::text {
namespace {

using headlight::testing::expect_error;

std::vector<std::string> pieces(const Finder& finder, std::string_view text, bool matches_only = false) {
  std::vector<Found> found;
  finder.find(text, {0, static_cast<std::uint32_t>(text.size())}, found);
  std::vector<std::string> out;
  std::size_t end = 0;
  for (const Found& f : found) {
    EXPECT_EQ(f.range.begin, end) << "a gap";
    end = f.range.end;
    if (!matches_only || f.match) out.emplace_back(text.substr(f.range.begin, f.range.size()));
  }
  EXPECT_EQ(end, text.size());
  return out;
}

double seconds(const std::function<void()>& work) {
  const double start = testing::work_seconds();
  work();
  return testing::work_seconds() - start;
}

// Texts made of what the patterns tell apart.
std::string random_text(testing::Random& random) {
  static const std::vector<std::string> kParts = {
      "a",  "Z",   "é", "語", "ſ",      "s",      "t",    "re", "LL",     "'",      "’",      "1",
      "23", "½",   "٣", " ",  "  ",     "\n",     "\r\n", "\t", "\u00A0", "\u2003", "\u3000", "\u0085",
      "!",  "...", "+", "😀",  "\u0301", "\u200B", "_",    "-",  "\u202F", "'s",     "'VE",    "'d"};
  std::string text;
  const int count = static_cast<int>(random.next() % 20);
  for (int i = 0; i < count; ++i) text += kParts[random.next() % kParts.size()];
  return text;
}

class Scanners : public ::testing::TestWithParam<std::string_view> {};

TEST_P(Scanners, SameAsTheExpression) {
  const Finder scanner({std::string(GetParam()), true});
  const Finder expression(
      {"(?:" + std::string(GetParam()) + ")", true});  // not known by heart: goes to PCRE2
  testing::Random random(7);
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = random_text(random);
    ASSERT_EQ(pieces(scanner, text), pieces(expression, text)) << text;
  }
}

TEST_P(Scanners, MegabytesOfOneThingAreLinear) {
  const Finder scanner({std::string(GetParam()), true});
  for (const std::string_view unit : {"a", " ", "\n", "1", "!", "'", " \n", "é", "\u3000"}) {
    std::string text;
    while (text.size() < 1'000'000) text += unit;
    EXPECT_LT(seconds([&] { EXPECT_FALSE(pieces(scanner, text + "x").empty()); }), testing::kPatience)
        << unit;
  }
}

INSTANTIATE_TEST_SUITE_P(Known, Scanners,
                         ::testing::Values(gpt2_pattern(), llama3_pattern(), qwen2_pattern()));

TEST(Finder, PlainTextAndRunsOfSpaces) {
  const Finder plain({"aa", false});
  EXPECT_EQ(pieces(plain, "baaaac"), (std::vector<std::string>{"b", "aa", "aa", "c"}));
  EXPECT_EQ(pieces(Finder({"", false}), "abc"), (std::vector<std::string>{"abc"}));
  const Finder spaces({" {2,}", true}), expression({"(?: {2,})", true});
  testing::Random random(3);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (std::uint64_t n = random.next() % 12; n > 0; --n) text += random.next() % 3 == 0 ? 'a' : ' ';
    ASSERT_EQ(pieces(spaces, text), pieces(expression, text)) << "'" << text << "'";
  }
}

TEST(Finder, LooksOnlyWithinItsRange) {
  const Finder finder({R"(\s+(?!\S)|\S+|\s)", true});
  const std::string text = "ab  cd";
  std::vector<Found> found;
  finder.find(text, {1, 4}, found);  // "b  ": the c behind it does not exist
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].range, (Range{2, 4}));
}

TEST(Finder, EmptyMatchesMoveOn) {
  EXPECT_EQ(pieces(Finder({"x*", true}), "axé", true), (std::vector<std::string>{"", "x", "", ""}));
  EXPECT_EQ(pieces(Finder({"(?=b)", true}), "abab", true), (std::vector<std::string>{"", ""}));
}

TEST(Finder, AnExpressionThatExplodesIsRefusedQuickly) {
  for (const char* pattern : {"(a+)+$", "(a|aa|a?)+$", R"((\w+)\1{3}$)", "(a*)*b"}) {
    const std::string text(41, 'a');
    const double spent = seconds([&] {
      try {
        (void)pieces(Finder({pattern, true}), text + "!");
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
        EXPECT_EQ(error.code(), "tokenizer.pattern");
      }
    });
    EXPECT_LT(spent, 0.5) << pattern;
  }
}

TEST(Finder, AnExpressionThatLooksFarFromEverywhereIsRefused) {
  // From each of a million places to the end and back: without a limit, minutes.
  const std::string text(1'000'000, 'a');
  const double spent = seconds([&] {
    expect_error(
        [&] {
          (void)pieces(Finder({"a++b|a", true}), text);
        },
        ErrorKind::input, "tokenizer.pattern", "more steps than allowed");
  });
  EXPECT_LT(spent, 10);
}

TEST(Finder, LongScansThatFailAreCounted) {
  // x{20000} and \\1 fail after thousands of bytes without telling of one of them.
  const std::string text(60'000, 'a');
  for (const char* pattern : {"a{20000}b|a", "(a{9000})\\1{6}b|a"})
    expect_error(
        [&] {
          (void)pieces(Finder({pattern, true}), text);
        },
        ErrorKind::input, "tokenizer.pattern", "more steps than allowed");
}

TEST(Finder, DeepMatchesAreInterpreted) {
  // A group that repeats needs memory for each time; more than machine code has.
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "é\u0301";
  EXPECT_EQ(pieces(Finder({R"((?:\p{L}\p{M}*)+|.)", true}), text).size(), 1U);
}

// How often a limit is met depends on the text alone: at the limit, one more character is refused each time.
TEST(Finder, TheLimitIsTheSameEveryTime) {
  const Finder finder({"a++b|a", true});
  const auto accepted = [&](std::size_t size) {
    try {
      (void)pieces(finder, std::string(size, 'a'));
      return true;
    } catch (const Error&) { return false; }
  };
  std::size_t most = 1, refused = 1 << 16;
  ASSERT_TRUE(accepted(most));
  ASSERT_FALSE(accepted(refused));
  while (refused - most > 1) (accepted((most + refused) / 2) ? most : refused) = (most + refused) / 2;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(accepted(most));
    EXPECT_FALSE(accepted(most + 1));
  }
}

TEST(Finder, ExpressionsThatCannotBeUsed) {
  const auto make = [](const char* pattern) { return [=] { (void)Finder({pattern, true}); }; };
  expect_error(make("(a"), ErrorKind::input, "tokenizer.pattern", "does not compile");
  expect_error(make("((a{1000}){1000}){1000}"), ErrorKind::input, "tokenizer.pattern", "does not compile");
  expect_error(make("\\h+"), ErrorKind::input, "tokenizer.pattern", "not supported");
  expect_error(make("[a-z&&[^b]]"), ErrorKind::input, "tokenizer.pattern", "not supported");
}

}  // namespace
}  // namespace headlight::text
