// Bars, atlas and comparison as text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/concat.h"
#include "draw/atlas_text.h"
#include "draw/bars_text.h"
#include "sample_maps.h"
#include "support/errors.h"
#include "terminal_screen.h"

namespace headlight::draw::testing {
namespace {

using headlight::testing::expect_error;
using ::testing::HasSubstr;

const std::vector<std::pair<std::string, Look>> kLooks = {{"full", Look::full_color},
                                                          {"256", Look::palette},
                                                          {"shades", Look::shades},
                                                          {"ascii", Look::ascii},
                                                          {"table", Look::table}};

std::vector<WeightMap> heads(int layers, int in_layer) {
  std::vector<WeightMap> maps;
  for (int layer = 0; layer < layers; ++layer) {
    for (int head = 0; head < in_layer; ++head) {
      maps.push_back(street_map(layer % 2 == 1, static_cast<unsigned>(layer * in_layer + head + 1)));
      maps.back().short_name = concat(layer, ".", head);
    }
  }
  return maps;
}

WeightMap row(unsigned seed) { return sample_map({"it"}, street_words(), false, seed); }

TEST(TextPictures, Golden) {
  for (const auto& [name, look] : kLooks) {
    for (const int width : {80, 120}) {
      const TerminalStyle style{.look = look, .width = width};
      const std::vector<WeightMap> maps = heads(2, 8);
      expect_golden(concat("pictures_", name, "_", width, ".txt"),
                    bars_text(row(1), style) + "\n" + bars_text(row(1), style, 3) + "\n" +
                        compared_bars_text(row(1), row(2), style) + "\n" + atlas_text(maps, 8, style) + "\n" +
                        top_keys_text(std::span(maps).subspan(8, 3), 3, style) + "\n" +
                        compared_maps_text(street_map(false), street_map(false, 2), style));
    }
  }
}

TEST(TextPictures, FitTheWidth) {
  for (const auto& [name, look] : kLooks) {
    if (look == Look::table) continue;  // lines of numbers are as long as they are
    for (const int width : {60, 80, 120, 200}) {
      for (const int in_layer : {1, 4, 12, 16}) {
        const std::vector<WeightMap> maps = heads(2, in_layer);
        EXPECT_LE(Screen(atlas_text(maps, in_layer, {.look = look, .width = width})).width(), width) << name;
      }
      EXPECT_LE(Screen(bars_text(row(1), {.look = look, .width = width})).width(), width) << name;
      EXPECT_LE(Screen(compared_bars_text(row(1), row(3), {.look = look, .width = width})).width(), width)
          << name;
    }
  }
}

TEST(Bars, LargestFirstAndTheRestInOneLine) {
  WeightMap map = sample_map({"it"}, {"a", "b", "c", "d"}, false);
  map.weights = {0.1F, 0.5F, 0.25F, 0.15F};
  map.visible = {1, 1, 1, 1};
  EXPECT_EQ(bars_text(map, {.look = Look::table}, 2),
            "  b         0.5000\n  c         0.2500\n  2 others  0.2500\n");
  EXPECT_EQ(keys_by_weight(map, 0), (std::vector<Index>{1, 2, 3, 0}));
  map.visible[1] = 0;
  EXPECT_EQ(keys_by_weight(map, 0), (std::vector<Index>{2, 3, 0}));
  EXPECT_THAT(bars_text(map, {.look = Look::shades}), HasSubstr("b          -  not visible"));
  EXPECT_THAT(bars_text(map, {.look = Look::ascii, .width = 40}), HasSubstr("c     0.2500  ######\n"));
}

TEST(Bars, OneRowOnly) {
  expect_error([] { (void)bars_text(street_map(false), {}); }, ErrorKind::usage, "draw.row",
               "bars show one query; the map \"layer 2, head 5\" has 13");
}

TEST(Atlas, TableNamesTheStrongestLinkAmongRowsThatHaveAChoice) {
  WeightMap map = sample_map({"a", "b"}, {"a", "b"}, true);
  map.weights = {1.0F, 0.0F, 0.75F, 0.25F};
  map.short_name = "0.0";
  EXPECT_EQ(atlas_text(std::vector<WeightMap>{map}, 1, {}),
            "head  largest  from -> to\n0.0    0.7500  b -> a\n");
  expect_error([] { (void)atlas_text({}, 1, {}); }, ErrorKind::usage, "draw.atlas", "an atlas of 0 maps");
}

TEST(Compare, DifferenceIsSecondMinusFirst) {
  WeightMap a = sample_map({"q"}, {"x", "y"}, false), b = a;
  a.weights = {0.25F, 0.75F};
  b.weights = {0.5F, 0.5F};
  const WeightMap change = difference(a, b);
  EXPECT_EQ(change.weights, (std::vector<float>{0.25F, -0.25F}));
  EXPECT_EQ(change.tag(), "derived: B minus A");
  EXPECT_EQ(
      compared_bars_text(a, b, {}),
      "             A       B      B-A\n  x     0.2500  0.5000  +0.2500\n  y     0.7500  0.5000  -0.2500\n");
  expect_error([&] { (void)difference(a, street_map(false)); }, ErrorKind::usage, "draw.map",
               "[1, 2] cannot be compared with \"layer 2, head 5\", which is [13, 13]");
}

TEST(Pooling, KeepsTheLargest) {
  WeightMap map = street_map(true);
  map.weights[12 * 13 + 3] = 0.99F;
  const WeightMap small = pooled(map, {4, 4});
  EXPECT_EQ(small.rows(), 4);
  EXPECT_EQ(small.columns(), 4);
  EXPECT_EQ(small.rows_in_cell, 4);
  EXPECT_FLOAT_EQ(static_cast<float>(small.weight(3, 0)), 0.99F);
  EXPECT_FALSE(small.sees(0, 1));
  EXPECT_TRUE(small.sees(1, 1));
  EXPECT_EQ(small.queries[0], "The … 't");
  EXPECT_EQ(small.queries[3], ".");
  WeightMap change = difference(street_map(false), street_map(false, 2));
  change.weights[0] = -0.9F;
  EXPECT_FLOAT_EQ(static_cast<float>(pooled(change, {2, 2}).weight(0, 0)), -0.9F);
}

}  // namespace
}  // namespace headlight::draw::testing
