// What is made of weights: means, rollout, words, and cells left out.
#include "inspect/attention_map.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace headlight::inspect {
namespace {

using headlight::testing::expect_error;

AttentionMap map_of(std::vector<float> weights, Index rows, std::vector<std::uint8_t> visible = {}) {
  AttentionMap map;
  map.layer = 0;
  map.head = 0;
  map.rows = rows;
  map.columns = static_cast<Index>(weights.size()) / rows;
  map.weights = std::move(weights);
  map.visible = std::move(visible);
  return map;
}

TEST(AttentionMaps, Mean) {
  AttentionMap a = map_of({1, 0, 0.5F, 0.5F}, 2, {1, 0, 1, 1}), b = map_of({1, 0, 0, 1}, 2, {1, 0, 0, 1});
  b.head = 1;
  const std::vector<AttentionMap> both = {a, b};
  const AttentionMap mean = mean_of(both, "mean of 2 heads");
  EXPECT_EQ(mean.weights, (std::vector<float>{1, 0, 0.25F, 0.75F}));
  EXPECT_EQ(mean.visible, (std::vector<std::uint8_t>{1, 0, 1, 1}));
  EXPECT_EQ(mean.derivation, "mean of 2 heads");
  EXPECT_EQ(mean.layer, 0);
  EXPECT_EQ(mean.head, -1);
  expect_error([] { (void)mean_of({}, ""); }, ErrorKind::usage, "inspect.map", "no map");
}

TEST(AttentionMaps, RolloutByHand) {
  // Layer 0: the second token looks at the first. Half of it stays: (1, 0) and (0.5, 0.5). Twice: (0.75, 0.25).
  const std::vector<AttentionMap> layers(2, map_of({1, 0, 1, 0}, 2, {1, 0, 1, 1}));
  const AttentionMap rolled = rollout_of(layers);
  EXPECT_EQ(rolled.weights, (std::vector<float>{1, 0, 0.75F, 0.25F}));
  EXPECT_EQ(rolled.derivation, "rollout over 2 layers");
  expect_error(
      [] {
        (void)rollout_of(std::vector<AttentionMap>{map_of({1, 0}, 1)});
      },
      ErrorKind::usage, "inspect.map", "square");
}

TEST(AttentionMaps, WordsAverageRowsAndSumColumns) {
  const AttentionMap map =
      map_of({1, 0, 0, 0.5F, 0.5F, 0, 0.25F, 0.25F, 0.5F}, 3, {1, 0, 0, 1, 1, 0, 1, 1, 1});
  const std::vector<Word> words = {{"a", {0, 1}}, {"bc", {1, 3}}};
  const AttentionMap merged = by_words(map, words, words);
  EXPECT_EQ(merged.weights, (std::vector<float>{1, 0, 0.375F, 0.625F}));
  EXPECT_EQ(merged.visible, (std::vector<std::uint8_t>{1, 0, 1, 1}));
  EXPECT_EQ(merged.derivation, "tokens merged into words");
  const std::vector<Word> same = {{"a", {0, 1}}, {"b", {1, 2}}, {"c", {2, 3}}};
  EXPECT_EQ(by_words(map, same, same).derivation, "");  // nothing was merged: still the model's numbers
}

TEST(AttentionMaps, RowsAndKeysOfSpans) {
  const AttentionMap map =
      map_of({1, 0, 0, 0.5F, 0.5F, 0, 0.25F, 0.25F, 0.5F}, 3, {1, 0, 0, 1, 1, 0, 1, 1, 1});
  const AttentionMap one = mean_row(map, {1, 2}), two = mean_row(map, {1, 3});
  EXPECT_EQ(one.weights, (std::vector<float>{0.5F, 0.5F, 0}));
  EXPECT_EQ(one.derivation, "");
  EXPECT_EQ(one.visible, (std::vector<std::uint8_t>{1, 1, 0}));
  EXPECT_EQ(two.weights, (std::vector<float>{0.375F, 0.375F, 0.25F}));
  EXPECT_EQ(two.derivation, "mean of 2 queries");
  EXPECT_EQ(sum_of_keys(two, 0, {1, 3}), 0.625);
}

TEST(AttentionMaps, LeavingOutKeepsTheOthersAsTheyAre) {
  AttentionMap map = map_of({1, 0, 0.5F, 0.5F}, 2);
  leave_out(map, {.self = true});
  EXPECT_EQ(map.visible, (std::vector<std::uint8_t>{0, 1, 1, 0}));
  EXPECT_EQ(map.weights, (std::vector<float>{1, 0, 0.5F, 0.5F}));
  leave_out(map, {.first = true});
  EXPECT_EQ(map.visible, (std::vector<std::uint8_t>{0, 1, 0, 0}));
  AttentionMap row = map_of({0.5F, 0.5F}, 1);
  leave_out(row, {.self = true}, 1);
  EXPECT_EQ(row.visible, (std::vector<std::uint8_t>{1, 0}));
  AttentionMap cross = map_of({0.5F, 0.5F}, 1);
  cross.part = Part::cross;
  leave_out(cross, {.self = true});
  EXPECT_EQ(cross.visible, (std::vector<std::uint8_t>{1, 1}));
}

TEST(AttentionMaps, WhatIsLeftSumsToOneAgain) {
  AttentionMap map;
  map.rows = 2;
  map.columns = 3;
  map.weights = {0.5F, 0.125F, 0.375F, 1, 0, 0};
  leave_out(map, {.columns = {0}});
  renormalize(map);
  EXPECT_EQ(map.weights,
            (std::vector<float>{0.5F, 0.25F, 0.75F, 1, 0, 0}));  // the second row has nothing left
  EXPECT_FALSE(map.sees(0, 0));
  EXPECT_TRUE(map.sees(1, 2));
  EXPECT_EQ(map.derivation, "renormalized");
}

TEST(AttentionMaps, FocusIsHighWhereAHeadChooses) {
  const AttentionMap sink = map_of({1, 0, 0, 1, 0, 0, 1, 0, 0}, 3),
                     even = map_of(std::vector<float>(9, 1.0F / 3), 3),
                     next = map_of({0, 1, 0, 0, 0, 1, 0, 1, 0}, 3);
  EXPECT_EQ(focus_of(sink), 0);
  EXPECT_NEAR(focus_of(even), 1.0 / 3, 1e-6);
  EXPECT_EQ(focus_of(next), 1);
}

}  // namespace
}  // namespace headlight::inspect
