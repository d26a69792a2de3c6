// Lines of small bars, column by column.
#include "draw/row_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/concat.h"
#include "draw/text.h"

namespace headlight::draw {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

WeightMap row(std::vector<float> weights) {
  WeightMap map;
  map.queries = {"chat"};
  for (std::size_t j = 0; j < weights.size(); ++j) map.keys.push_back(concat("k", j));
  map.weights = std::move(weights);
  return map;
}

TEST(RowText, HeightsAreWeights) {
  TerminalStyle style{.look = Look::shades, .width = 80};
  EXPECT_EQ(row_text(row({0, 0.005F, 0.02F, 0.125F, 0.5F, 1, 0, 0}), style, {.names = 2}),
            "chat          │  ▁▁▄█  │  k5           1.00  k4           0.50\n");
  style.look = Look::ascii;
  EXPECT_EQ(row_text(row({0, 0.005F, 0.02F, 0.125F, 0.5F, 1, 0, 0}), style, {.names = 1}),
            "chat          |  ..=#  |  k5           1.00\n");
  style.look = Look::table;
  EXPECT_EQ(row_text(row({0.25F, 0.75F}), style), "chat          k1           0.75  k0           0.25\n");
}

TEST(RowText, FitsAnyWidth) {
  for (const int width : {40, 60, 80, 120}) {
    for (const int keys : {1, 7, 30, 63, 64, 65, 500}) {
      std::vector<float> weights(static_cast<std::size_t>(keys), 0);
      weights[static_cast<std::size_t>(keys / 2)] = 1;
      const TerminalStyle style{.look = Look::shades, .width = width};
      for (const int bars : {0, 64}) {
        const std::string line = row_text(row(weights), style, {.bars = bars});
        EXPECT_LE(display_width(line.substr(0, line.size() - 1)), width) << keys << " keys";
        EXPECT_THAT(line, HasSubstr("█")) << "a single strong link never disappears";
      }
    }
  }
}

TEST(RowText, ColoursOnlyWhereTheyAreWelcome) {
  const WeightMap map = row({0.5F, 0.5F});
  EXPECT_THAT(row_text(map, {.look = Look::full_color}), HasSubstr("\x1b[38;2;"));
  EXPECT_THAT(row_text(map, {.look = Look::palette}), HasSubstr("\x1b[38;5;"));
  EXPECT_THAT(row_text(map, {.look = Look::shades}), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace headlight::draw
