// BLEU and chrF against numbers that others have published for the same sentences.
#include "text/translation_score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace headlight::text {
namespace {

using ::testing::ElementsAre;

// The example with which sacreBLEU introduces itself: three sentences, two references each.
std::vector<ScoredSentence> dog_and_man() {
  return {{"The dog bit the man.", {"The dog bit the man.", "The dog had bit the man."}},
          {"It wasn't surprising.", {"It was not unexpected.", "No one was surprised."}},
          {"The man had just bitten him.", {"The man bit him first.", "The man had bitten the dog."}}};
}

TEST(Bleu, PublishedExampleWithTwoReferences) {
  const Bleu found = bleu(dog_and_man());
  EXPECT_NEAR(found.score, 48.530827009929865, 1e-9);
  EXPECT_THAT(found.shared, ElementsAre(14, 7, 5, 3));
  EXPECT_THAT(found.written, ElementsAre(17, 14, 11, 8));
  EXPECT_NEAR(found.brevity, 0.9428731438548749, 1e-12);
  EXPECT_EQ(found.words, 17);
  EXPECT_EQ(found.reference_words, 18);
}

// The same page, with one reference fewer for the first sentence: 29.44 by 82.4, 42.9, 27.3 and 12.5 %.
TEST(Bleu, PublishedExampleWithUnequalNumbersOfReferences) {
  std::vector<ScoredSentence> sentences = dog_and_man();
  sentences[0].references.erase(sentences[0].references.begin());
  const Bleu found = bleu(sentences);
  EXPECT_NEAR(found.score, 29.44, 0.005);
  EXPECT_THAT(found.shared, ElementsAre(14, 6, 3, 1));
  EXPECT_EQ(found.reference_words, 19);
}

// From sacreBLEU's own checks of its formula.
TEST(Bleu, SmoothsWhatIsNeverShared) {
  // By hand: 3/4 words, 2/3 pairs, 1/2 triples, and half of one run of four.
  const Bleu found = bleu(std::vector<ScoredSentence>{{"this is a fest", {"this is a test"}}});
  EXPECT_NEAR(found.score, 100 * std::pow(3.0 / 4 * 2.0 / 3 * 1.0 / 2 * 0.5, 0.25), 1e-9);
  EXPECT_NEAR(bleu(std::vector<ScoredSentence>{{"a b c d", {"a b c d"}}}).score, 100, 1e-9);
  EXPECT_EQ(bleu(std::vector<ScoredSentence>{{"", {"a b c d"}}}).score, 0);
  EXPECT_EQ(bleu(std::vector<ScoredSentence>{{"e f g h", {"a b c d"}}}).score, 0);
  EXPECT_EQ(bleu(std::vector<ScoredSentence>{{"a b c", {"a b c"}}}).score, 0);  // no run of four at all
  EXPECT_EQ(bleu({}).score, 0);
}

TEST(Bleu, TheClosestReferenceCountsAndOfTwoTheShorter) {
  EXPECT_EQ(bleu(std::vector<ScoredSentence>{{"a b c d", {"a b", "a b c d e"}}}).reference_words, 5);
  EXPECT_EQ(bleu(std::vector<ScoredSentence>{{"a b c d", {"a b c d e", "a b c"}}}).reference_words, 3);
  // A run counts as often as the one reference has it that has it most often, not as often as all together.
  EXPECT_EQ(bleu(std::vector<ScoredSentence>{{"a a a", {"a b", "a a b"}}}).shared[0], 2);
}

TEST(Bleu, WordsBy13a) {
  EXPECT_THAT(words_13a("Hello, world!"), ElementsAre("Hello", ",", "world", "!"));
  EXPECT_THAT(words_13a("  It's 1,000.50 in 1999-2000.  "),
              ElementsAre("It's", "1,000.50", "in", "1999", "-", "2000", "."));
  EXPECT_THAT(words_13a("l'homme (fort)"), ElementsAre("l'homme", "(", "fort", ")"));
  EXPECT_THAT(words_13a("well-known e-mail"), ElementsAre("well-known", "e-mail"));
  EXPECT_THAT(words_13a("wait..."), ElementsAre("wait", ".", ".", "."));
  EXPECT_THAT(words_13a("a,b 3,x y.4"), ElementsAre("a", ",", "b", "3", ",", "x", "y", ".", "4"));
  EXPECT_THAT(words_13a("&quot;a&amp;b&quot; &lt;c&gt;"),
              ElementsAre("\"", "a", "&", "b", "\"", "<", "c", ">"));
  // Spaces of all kinds divide: French puts a narrow one before its question marks.
  EXPECT_THAT(words_13a("Où êtes-vous\u202f? Ici\u00a0!"), ElementsAre("Où", "êtes-vous", "?", "Ici", "!"));
  EXPECT_THAT(words_13a("«\u00a0oui\u00a0»…"), ElementsAre("«", "oui", "»…"));
  EXPECT_THAT(words_13a("a<skipped>b"), ElementsAre("ab"));
  EXPECT_THAT(words_13a(""), ElementsAre());
  EXPECT_EQ(words_13a("\xff.").size(), 2U);  // bytes that are no text do no harm
}

// The example of the metric's page at Hugging Face, computed with sacreBLEU.
TEST(Chrf, PublishedExample) {
  const std::vector<ScoredSentence> sentences = {
      {"The relationship between cats and dogs is not exactly friendly.",
       {"The relationship between dogs and cats is not exactly friendly."}},
      {"a good bookshop is just a genteel black hole that knows how to read.",
       {"A good bookshop is just a genteel Black Hole that knows how to read."}}};
  EXPECT_NEAR(chrf(sentences), 84.64214891738334, 1e-9);
  EXPECT_NEAR(chrf(std::span(sentences).first(1)), 84.41131092011067, 1e-9);
}

TEST(Chrf, PublishedExampleWithTwoReferences) { EXPECT_NEAR(chrf(dog_and_man()), 59.73, 0.005); }

// sacreBLEU's checks on short texts, with recall three times as heavy.
TEST(Chrf, PublishedShortTexts) {
  const auto score = [](std::string translation, std::string reference) {
    return chrf(std::vector<ScoredSentence>{{std::move(translation), {std::move(reference)}}}, 3);
  };
  EXPECT_NEAR(score("a", "a"), 100, 1e-9);
  EXPECT_NEAR(score("", "reference"), 0, 1e-9);
  EXPECT_NEAR(score("a b c", "a b c"), 100, 1e-9);
  EXPECT_NEAR(score("a b c", "abc"), 100, 1e-9);
  EXPECT_NEAR(score("", "c"), 0, 1e-9);
  EXPECT_NEAR(score("aa", "ab"), 25, 1e-9);
  EXPECT_NEAR(chrf(std::vector<ScoredSentence>{{"a", {"a"}}, {"b", {"c"}}}, 3), 50, 1e-9);
}

}  // namespace
}  // namespace headlight::text
