#include "inspect/word_alignment.h"

#include <gtest/gtest.h>

#include "headlight/error.h"
#include "support/places.h"

namespace headlight::inspect {
namespace {

const std::string kModels = testing::source_folder() + "/models";

TEST(WordAlignment, LinesSayWhichWordsStandForWhich) {
  const auto sentences = parse_alignments("# remark\n\na b.\tx y.\tx=a y=a,b\n", "test");
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_EQ(sentences[0].source, "a b.");
  EXPECT_EQ(sentences[0].written, "x y.");
  ASSERT_EQ(sentences[0].words.size(), 2U);
  EXPECT_EQ(sentences[0].words[1].written, "y");
  EXPECT_EQ(sentences[0].words[1].source, (std::vector<std::string>{"a", "b"}));
}

TEST(WordAlignment, BadLinesAreRefusedByNumber) {
  for (const char* line : {"a\tb", "a\tb\tc\td", "a\tb\tx", "a\tb\t=a", "a\tb\tx="}) {
    try {
      (void)parse_alignments(std::string("# first\n") + line, "words.tsv");
      ADD_FAILURE() << line;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_NE(std::string(error.what()).find("words.tsv"), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("line 2"), std::string::npos);
    }
  }
}

TEST(WordAlignment, WordsMustBeInTheSentence) {
  Context ctx({.threads = 1});
  const LoadedModel loaded = open_model("en-fr", {kModels});
  const auto sentences = parse_alignments("The cat.\tLe chat.\tchien=cat", "test");
  EXPECT_THROW((void)score_alignment(ctx, loaded, sentences), Error);
}

// The promise of models/headlight-en-fr: the head chosen on one half is right for most words of the other.
TEST(WordAlignment, DefaultModelAlignsWordsItWasNotChosenOn) {
  Context ctx({.threads = 2});
  const LoadedModel loaded = open_model("en-fr", {kModels});
  const auto sentences = read_alignments(loaded.folder + "/alignments.tsv");
  ASSERT_EQ(sentences.size(), 40U);
  const std::span all(sentences);
  const std::vector<AlignmentScore> chosen = score_alignment(ctx, loaded, all.first(20));
  EXPECT_EQ(chosen.size(), static_cast<std::size_t>(loaded.layers(Part::cross) * loaded.heads(Part::cross)));
  const HeadPlace head = best_of(chosen).head;
  for (const AlignmentScore& score : score_alignment(ctx, loaded, all.subspan(20))) {
    if (score.head == head) { EXPECT_GE(score.share(), 0.7) << score.right << " of " << score.words; }
  }
}

}  // namespace
}  // namespace headlight::inspect
