#include "inspect/link_ranking.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/small_models.h"

namespace headlight::inspect {
namespace {

using headlight::testing::expect_error;
using headlight::testing::SmallKind;
using headlight::testing::TempFolder;

const char* const kStreet = "the animal didn't cross the street because it was too tired.";

class LinkRanking : public ::testing::Test {
 protected:
  LoadedModel open(SmallKind kind) {
    headlight::testing::write_small_model(folder_.root().string(), kind);
    return open_model(folder_.root().string(), {});
  }
  std::vector<LinkWeight> rank(const LoadedModel& loaded, const ModelInput& input, Part part,
                               const std::string& link) {
    return rank_link(ctx_, loaded, input, part,
                     find_link(loaded, sides_of(loaded, input, part), part, parse_link(link)));
  }
  TempFolder folder_;
  Context ctx_{{.threads = 1}};
};

TEST_F(LinkRanking, WeightsAreThoseOfTheMaps) {
  const LoadedModel loaded = open(SmallKind::encoder);
  const ModelInput input{.source = read_text(*loaded.tokenizer, kStreet)};
  MapRecorder recorder({.part = Part::encoder});
  (void)watch(ctx_, loaded, input, recorder);
  const Range it = pick(input.source, "it").word.tokens, tired = pick(input.source, "tired").word.tokens;
  ASSERT_EQ(tired.size(), 2);  // "ti" and "##red"
  for (const char* text : {"it->tired", "tired → it"}) {
    const bool forwards = text[0] == 'i';
    const Range from = forwards ? it : tired, to = forwards ? tired : it;
    const std::vector<LinkWeight> ranked = rank(loaded, input, Part::encoder, text);
    ASSERT_EQ(ranked.size(), 4U);
    for (std::size_t i = 0; i < ranked.size(); ++i) {
      const HeadPlace place = ranked[i].place;
      const AttentionMap& map = recorder.maps()[static_cast<std::size_t>(place.layer * 2 + place.head)];
      double expected = 0;
      for (Index q = from.begin; q < from.end; ++q)
        expected += sum_of_keys(map, q, to) / static_cast<double>(from.size());
      EXPECT_NEAR(ranked[i].weight, expected, 1e-7);
      EXPECT_NEAR(ranked[i].even, static_cast<double>(to.size()) / static_cast<double>(map.columns), 1e-12);
      if (i > 0) { EXPECT_GE(ranked[i - 1].weight, ranked[i].weight); }
    }
  }
}

TEST_F(LinkRanking, AnyWordOnOneSide) {
  const LoadedModel loaded = open(SmallKind::decoder);
  const ModelInput input{.source = read_text(*loaded.tokenizer, kStreet)};
  for (const LinkWeight& w : rank(loaded, input, Part::decoder, "it->?")) {
    EXPECT_NE(w.key, "it");
    EXPECT_NE(w.key, "[CLS]");
    EXPECT_GT(w.weight, 0);
  }
  MapRecorder recorder({.part = Part::decoder});
  (void)watch(ctx_, loaded, input, recorder);
  const LinkWeight best = rank(loaded, input, Part::decoder, "?->animal").front();
  const Index animal = pick(input.source, "animal").word.tokens.begin;
  const AttentionMap& map = recorder.maps()[static_cast<std::size_t>(best.place.layer * 2 + best.place.head)];
  double sum = 0;
  for (Index i = animal + 1; i < map.rows; ++i) sum += double{map.at(i, animal)};
  EXPECT_NEAR(best.weight, sum / static_cast<double>(map.rows - animal - 1), 1e-7);
}

TEST_F(LinkRanking, WhatCannotBeALink) {
  for (const char* text : {"it", "it->", "->animal", "?->?", ""})
    expect_error([&] { (void)parse_link(text); }, ErrorKind::usage, "heads.link", "is not a link");
  const LoadedModel loaded = open(SmallKind::decoder);
  const ModelInput input{.source = read_text(*loaded.tokenizer, kStreet)};
  expect_error([&] { (void)rank(loaded, input, Part::decoder, "animal->it"); }, ErrorKind::usage,
               "heads.link", "attends only to earlier words");
  expect_error([&] { (void)rank(loaded, input, Part::decoder, "it->dog"); }, ErrorKind::usage, "inspect.word",
               "is not in the text");
}

TEST_F(LinkRanking, ManyPairsHaveTheMeanOfTheirWeights) {
  const LoadedModel loaded = open(SmallKind::encoder);
  const char* const texts[] = {"the cat sat on the mat because it was tired",
                               "it was the cat , the animal lives here"};
  std::string file = "# a remark\n";
  for (int i = 0; i < 4; ++i)
    for (const char* text : texts) file += std::string(text) + "\tit\tcat\n";
  const std::vector<PairLine> pairs = parse_pairs(file, "pairs.tsv");
  ASSERT_EQ(pairs.size(), 8U);
  const PairsRanking ranking = rank_pairs(ctx_, loaded, pairs, Part::encoder, "pairs.tsv");
  ASSERT_EQ(ranking.heads.size(), 4U);
  for (const PairsScore& score : ranking.heads) {
    double mean = 0;
    for (const char* text : texts) {
      const ModelInput input{.source = read_text(*loaded.tokenizer, text)};
      for (const LinkWeight& w : rank(loaded, input, Part::encoder, "it->cat"))
        if (w.place == score.place) mean += w.weight / 2;
    }
    EXPECT_NEAR(score.weight, mean, 1e-9);
    EXPECT_LE(score.interval.low, mean);
    EXPECT_GE(score.interval.high, mean);
  }
  ASSERT_TRUE(ranking.chosen.has_value());
}

TEST_F(LinkRanking, BadPairFilesAreRefusedByLine) {
  for (const auto& [text, words] : {std::pair{"a\tb", "has 2 columns (line 2)"},
                                    {"a\t\tc", "column 2 is empty (line 2)"},
                                    {"a\tb\tc\td\te", "has 5 columns (line 2)"},
                                    {"a\xff\tb\tc", "is not UTF-8 (line 2)"}})
    expect_error([&] { (void)parse_pairs(std::string("# x\n") + text, "p.tsv"); }, ErrorKind::input,
                 "heads.pairs", words);
  expect_error([&] { (void)parse_pairs("# nothing\n", "p.tsv"); }, ErrorKind::input, "heads.pairs",
               "has no pairs");
  const LoadedModel loaded = open(SmallKind::encoder);
  expect_error(
      [&] {
        (void)rank_pairs(ctx_, loaded, parse_pairs("the cat sat\tcat\tdog\n", "p.tsv"), Part::encoder,
                         "p.tsv");
      },
      ErrorKind::input, "heads.pairs", "p.tsv: pair 1: \"dog\" is not in the text");
}

}  // namespace
}  // namespace headlight::inspect
