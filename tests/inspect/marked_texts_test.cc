// Heads against trees, parallel trees and pronouns: counts against maps, and the published sets end to end.
#include <gtest/gtest.h>

#include "inspect/coref_heads.h"
#include "inspect/parallel_heads.h"
#include "inspect/word_choices.h"
#include "io/gzip.h"
#include "support/errors.h"
#include "support/places.h"
#include "support/shared_data.h"
#include "support/small_models.h"

namespace headlight::inspect {
namespace {

using headlight::testing::expect_error;
using headlight::testing::SmallKind;
using headlight::testing::TempFolder;

const std::string kModels = testing::source_folder() + "/models";

// "the cat sat on the mat": det, nsubj, root, case, det, obl.
const char* const kTree =
    "# text = the cat sat on the mat\n"
    "1\tthe\tthe\tDET\t_\t_\t2\tdet\t_\t_\n2\tcat\tcat\tNOUN\t_\t_\t3\tnsubj\t_\t_\n3\tsat\tsit\tVERB\t_\t_"
    "\t0\troot\t_\t_\n"
    "4\ton\ton\tADP\t_\t_\t6\tcase\t_\t_\n5\tthe\tthe\tDET\t_\t_\t6\tdet:def\t_\t_\n6\tmat\tmat\tNOUN\t_\t_"
    "\t3\tobl\t_\t_\n\n";

class MarkedTexts : public ::testing::Test {
 protected:
  LoadedModel open(SmallKind kind) {
    headlight::testing::write_small_model(folder_.root().string(), kind);
    return open_model(folder_.root().string(), {});
  }
  TempFolder folder_;
  Context ctx_{{.threads = 1}};
};

TEST_F(MarkedTexts, ChoicesAreTheLargestOfJoinedWords) {
  const LoadedModel loaded = open(SmallKind::encoder);
  const ModelInput input{.source = read_text(*loaded.tokenizer, "the cat was tired on the street")};
  const std::vector<Word> words = words_of(input.source);
  std::vector<Range> tokens;
  for (const Word& word : words) tokens.push_back(word.tokens);
  MapRecorder recorder({.part = Part::encoder});
  (void)watch(ctx_, loaded, input, recorder);
  std::size_t heads = 0;
  WordChoices choices(Part::encoder, {.queries = tokens, .keys = tokens},
                      [&](const HeadPlace& place, std::span<const Index> chosen) {
                        const AttentionMap map = by_words(recorder.maps()[heads++], words, words);
                        EXPECT_EQ(place.layer, map.layer);
                        for (Index i = 0; i < map.rows; ++i) {
                          Index best = i == 0 ? 1 : 0;
                          for (Index j = 0; j < map.columns; ++j)
                            if (j != i && map.at(i, j) > map.at(i, best)) best = j;
                          EXPECT_EQ(chosen[static_cast<std::size_t>(i)], best);
                        }
                      });
  (void)watch(ctx_, loaded, input, choices);
  EXPECT_EQ(heads, 4U);
}

TEST_F(MarkedTexts, TreebankCountsAndBaselines) {
  std::string file;
  for (int i = 0; i < 60; ++i) file += kTree;
  const std::vector<text::Tree> trees = text::parse_conllu(file, "t.conllu");
  for (const SmallKind kind : {SmallKind::encoder, SmallKind::decoder}) {
    const LoadedModel loaded = open(kind);
    const TreebankReport report = score_treebank(ctx_, loaded, trees);
    EXPECT_EQ(report.sentences, 60);
    EXPECT_EQ(report.heads, 4);
    ASSERT_EQ(report.relations.size(), 4U);  // case, det, nsubj, obl
    for (const RelationScore& r : report.relations) {
      // Every sentence is the same: a head is always right or always wrong, but for det, which comes twice.
      if (r.relation == "obl") {
        EXPECT_EQ(r.baseline.value(), 1);
        EXPECT_EQ(r.offset, r.direction == Direction::to_head ? -3 : 3);
      }
      if (r.relation == "det" && r.direction == Direction::to_head) { EXPECT_EQ(r.offset, 1); }
      EXPECT_EQ(r.choosing.value(), r.scoring.value()) << r.relation;
      EXPECT_GE(r.scoring.all, 30);
      // A decoder looks back: a subject before its verb is found from the verb alone.
      if (kind == SmallKind::decoder && r.relation == "nsubj") {
        EXPECT_EQ(r.direction, Direction::to_dependent);
      }
    }
  }
}

TEST_F(MarkedTexts, LinksOfParallelTrees) {
  const auto source = text::parse_conllu(
      "# sent_id = a\n1\tTom\t_\tPROPN\t_\t_\t2\tnsubj\t_\t_\n2\tbought\t_\tVERB\t_\t_\t0\troot\t_\t_\n"
      "3\tred\t_\tADJ\t_\t_\t4\tamod\t_\t_\n4\tbooks\t_\tNOUN\t_\t_\t2\tobj\t_\t_\n",
      "en");
  const auto written = text::parse_conllu(
      "# sent_id = a\n1\tTom\t_\tPROPN\t_\t_\t3\tnsubj\t_\t_\n2\ta\t_\tAUX\t_\t_\t3\taux\t_\t_\n"
      "3\tacheté\t_\tVERB\t_\t_\t0\troot\t_\t_\n4\tdes\t_\tDET\t_\t_\t5\tdet\t_\t_\n"
      "5\tlivres\t_\tNOUN\t_\t_\t3\tobj\t_\t_\n6\trouges\t_\tADJ\t_\t_\t5\tamod\t_\t_\n",
      "fr");
  EXPECT_EQ(derive_links(source[0], written[0]), (std::vector<WordLink>{{0, 0}, {2, 1}, {4, 3}, {5, 2}}));
  EXPECT_EQ(pair_trees(source, written).size(), 1U);
  const std::vector<text::Tree> two = {source[0], source[0]};
  EXPECT_EQ(pair_trees(two, written).size(), 2U);  // by name
  std::vector<text::Tree> nameless = written;
  nameless[0].id.clear();
  expect_error([&] { (void)pair_trees(two, nameless); }, ErrorKind::input, "heads.parallel",
               "there are 2 and 1");
  const LoadedModel loaded = open(SmallKind::decoder);
  expect_error([&] { (void)score_parallel(ctx_, loaded, source, written); }, ErrorKind::usage,
               "heads.parallel", "needs an encoder-decoder");
}

TEST_F(MarkedTexts, PronounsAndTheirCandidates) {
  text::CorefSet set{.kind = "test", .items = {}};
  for (int i = 0; i < 12; ++i) {
    text::CorefItem item{.id = "x",
                         .text = "the cat sat on the mat because it was tired",
                         .group = std::to_string(i / 2),
                         .candidates = {},
                         .right = i % 3 == 0 ? std::size_t{1} : 0};
    item.pronoun = text::find_words(item.text, "it", 0);
    for (const char* who : {"cat", "mat"})
      item.candidates.push_back(text::find_words(item.text, who, item.pronoun.begin));
    set.items.push_back(item);
  }
  const LoadedModel loaded = open(SmallKind::decoder);
  const CorefReport report = score_coref(ctx_, loaded, set);
  EXPECT_EQ(report.items, 12);
  EXPECT_EQ(report.nearest.all, 6);
  EXPECT_EQ(report.nearest.right, 2);  // the mat is nearer, and meant every third time
  EXPECT_EQ(report.chance, 0.5);
  for (const HeadShare& head : report.heads) {
    EXPECT_EQ(head.choosing.all, 6);
    EXPECT_TRUE(head.choosing.right == 2 || head.choosing.right == 4);  // the same text: one choice for all
  }
  set.items[0].candidates[0] = {36, 39};  // behind the pronoun
  EXPECT_EQ(score_coref(ctx_, loaded, set).unseen, 1);
}

class PublishedSets : public ::testing::Test {
 protected:
  void SetUp() override { shared_ = headlight::testing::shared_data(); }
  [[nodiscard]] std::string read(const char* name) const {
    return io::read_text((*shared_ / "data" / name).string());
  }
  std::optional<std::filesystem::path> shared_;
  Context ctx_{{.threads = 1}};
};

HEADLIGHT_SHARED_TEST_F(PublishedSets, EveryTreebankIsRead) {
  for (const auto& [name, sentences] : {std::pair{"ud/en_ewt-ud-dev.conllu.gz", 2001U},
                                        {"ud/en_ewt-ud-test.conllu.gz", 2077U},
                                        {"ud/en_pud-ud-test.conllu.gz", 1000U},
                                        {"ud/fr_pud-ud-test.conllu.gz", 1000U},
                                        {"ud/fr_gsd-ud-test.conllu.gz", 416U}}) {
    const std::vector<text::Tree> trees = text::parse_conllu(read(name), name);
    EXPECT_EQ(trees.size(), sentences) << name;
    for (const text::Tree& tree : trees)
      for (const text::TreeWord& word : tree.words) ASSERT_LE(word.end, tree.text.size());
  }
}

HEADLIGHT_SHARED_TEST_F(PublishedSets, EveryPronounSetIsRead) {
  const auto check = [&](const char* name, std::size_t items, std::size_t left_out) {
    const text::CorefSet set = text::parse_coref(read(name), name);
    EXPECT_EQ(set.items.size() + set.left_out, items) << name;
    EXPECT_LE(set.left_out, left_out) << name;
  };
  check("coref/WSCollection.xml", 285, 30);
  check("coref/winogender-all_sentences.tsv", 720, 0);
  check("coref/gap-validation.tsv", 454, 70);
  check("coref/gap-development.tsv", 2000, 300);
}

// The grammar of real sentences, whatever the heads do: most articles stand before a noun that is next or one further.
HEADLIGHT_SHARED_TEST_F(PublishedSets, BaselinesAreThoseOfEnglish) {
  std::vector<text::Tree> trees = text::parse_conllu(read("ud/en_ewt-ud-dev.conllu.gz"), "ewt");
  trees.resize(300);
  const LoadedModel loaded = open_model("en-fr", {kModels});
  const TreebankReport report = score_treebank(ctx_, loaded, trees);
  EXPECT_EQ(report.sentences + report.too_long, 300);
  bool found = false;
  for (const RelationScore& r : report.relations) {
    EXPECT_GT(r.scoring.value(), 0) << r.relation;
    if (r.relation != "det" || r.direction != Direction::to_head) continue;
    found = true;
    EXPECT_EQ(r.offset, 1);
    EXPECT_GT(r.baseline.value(), 0.5);
  }
  EXPECT_TRUE(found);
}

HEADLIGHT_SHARED_TEST_F(PublishedSets, AHeadAlignsWordsAheadOfTheDiagonal) {
  std::vector<text::Tree> en = text::parse_conllu(read("ud/en_pud-ud-test.conllu.gz"), "en"),
                          fr = text::parse_conllu(read("ud/fr_pud-ud-test.conllu.gz"), "fr");
  en.resize(120);
  const LoadedModel loaded = open_model("en-fr", {kModels});
  const ParallelReport report = score_parallel(ctx_, loaded, en, fr);
  EXPECT_GT(report.links, 300);
  EXPECT_GT(report.heads.front().scoring.interval().low, report.baseline.value());
}

}  // namespace
}  // namespace headlight::inspect
