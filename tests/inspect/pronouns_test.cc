#include "inspect/pronouns.h"

#include <gtest/gtest.h>

#include "headlight/error.h"
#include "inspect/ablation.h"
#include "inspect/model_run.h"
#include "support/places.h"

namespace headlight::inspect {
namespace {

const std::string kModels = testing::source_folder() + "/models";
constexpr const char* kTwins =
    "# remark\n"
    "The cat saw the car because it was red.\tLe chat a vu la voiture parce qu'elle était "
    "rouge.\t6\t4\t1\telle\tnoun\t7\n"
    "The cat saw the car because it was hungry.\tLe chat a vu la voiture parce qu'il avait "
    "faim.\t6\t1\t4\til\tnoun\t7\n";

TEST(Pronouns, LinesNameThreeWords) {
  const auto sentences = parse_pronouns(kTwins, "test");
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_EQ(sentences[0].antecedent, 4);
  EXPECT_EQ(sentences[1].other, 4);
  EXPECT_EQ(sentences[0].twin, sentences[1].twin);
}

TEST(Pronouns, BadLinesAreRefusedByNumber) {
  for (const char* line : {"a\tb", "It is.\tIl est.\tx\t1\t1\til\t\t0", "It is.\tIl est.\t0\t2\t1\til\t\t0",
                           "It is.\tIl est.\t-1\t1\t1\til\t\t0", "It is.\tIl est.\t0\t1\t1\til\t\t"}) {
    try {
      (void)parse_pronouns(std::string("# first\n") + line, "p.tsv");
      ADD_FAILURE() << line;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_NE(std::string(error.what()).find("line 2"), std::string::npos) << error.what();
    }
  }
}

TEST(Pronouns, FindsFrenchPronounsInsideOfElisions) {
  EXPECT_EQ(french_pronouns("Elle dit qu'il dort; ils, elles."),
            (std::vector<std::string>{"elle", "il", "ils", "elles"}));
  EXPECT_EQ(french_pronouns("Le fil de l'île, cil"), std::vector<std::string>{});
}

// Counted by hand from the weights of a run, for one head.
TEST(Pronouns, ScoresAreThoseOfTheWeights) {
  Context ctx({.threads = 1});
  const LoadedModel loaded = open_model("en-fr", {kModels});
  const auto sentences = parse_pronouns(kTwins, "test");
  const auto scores = score_antecedents(ctx, loaded, sentences);
  ASSERT_EQ(scores.size(),
            static_cast<std::size_t>(loaded.layers(Part::encoder) * loaded.heads(Part::encoder)));
  const AntecedentScore& score = scores[10];
  Index right = 0;
  double antecedent = 0;
  for (const PronounSentence& s : sentences) {
    const ModelInput input{.source = read_text(*loaded.tokenizer, s.source)};
    MapRecorder recorder({.part = Part::encoder, .heads = {score.head}});
    (void)watch(ctx, loaded, input, recorder);
    const std::vector<Word> words = words_of(input.source);
    const AttentionMap map = by_words(recorder.maps().front(), words, words);
    const double on = double{map.at(s.pronoun, s.antecedent)}, off = double{map.at(s.pronoun, s.other)};
    right += on > off ? 1 : 0;
    antecedent += on / 2;
  }
  EXPECT_EQ(score.right, right);
  EXPECT_NEAR(score.antecedent, antecedent, 1e-6);
  EXPECT_EQ(score.twins, 1);
  EXPECT_EQ(score.twins_right, right == 2 ? 1 : 0);
}

TEST(Pronouns, AnInterventionReachesTheTranslation) {
  Context ctx({.threads = 1});
  const LoadedModel loaded = open_model("en-fr", {kModels});
  const auto sentences = parse_pronouns(kTwins, "test");
  const PronounTranslations whole = translate_pronouns(ctx, loaded, sentences);
  EXPECT_EQ(whole.texts.size(), 2U);
  Ablation all({.change = Change::zero,
                .part = Part::encoder,
                .heads = all_heads(loaded.layers(Part::encoder), loaded.heads(Part::encoder))});
  EXPECT_NE(translate_pronouns(ctx, loaded, sentences, &all).texts, whole.texts);
}

}  // namespace
}  // namespace headlight::inspect
