// Maps as text: golden files for every look and width, colours read back from the escape codes, and
// columns that stay aligned whatever the words are.
#include "draw/heat_map_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/concat.h"
#include "draw/map_cells.h"
#include "sample_maps.h"
#include "support/errors.h"
#include "terminal_screen.h"

namespace headlight::draw::testing {
namespace {

using headlight::testing::expect_error;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::pair<std::string, Look>> kLooks = {{"full", Look::full_color},
                                                          {"256", Look::palette},
                                                          {"shades", Look::shades},
                                                          {"ascii", Look::ascii},
                                                          {"table", Look::table}};

TEST(HeatMapText, GoldenForEveryLookAndWidth) {
  std::vector<std::string> many;
  for (int i = 0; i < 130; ++i) many.push_back(concat("w", i % 7));
  for (const auto& [name, look] : kLooks) {
    for (const int width : {80, 120}) {
      const TerminalStyle style{.look = look, .width = width};
      std::string text = heat_map_text(street_map(true), style) + "\n" + heat_map_text(mixed_map(), style) +
                         "\n" + heat_map_text(difference(street_map(true), street_map(true, 2)), style);
      if (look != Look::table) text += "\n" + heat_map_text(sample_map(many, many, true), style);
      expect_golden(concat("heat_map_", name, "_", width, ".txt"), text);
    }
  }
}

TEST(HeatMapText, NoLineIsWiderThanTheTerminal) {
  std::vector<std::string> words = street_words();
  for (const int tokens : {1, 2, 5, 13, 30, 46, 60, 90, 200}) {
    std::vector<std::string> labels;
    for (int i = 0; i < tokens; ++i)
      labels.push_back(i % 9 == 4 ? "猫が猫" : words[static_cast<std::size_t>(i) % 13]);
    const WeightMap map = sample_map(labels, labels, tokens % 2 == 0);
    for (const auto& [name, look] : kLooks) {
      for (const int width : {40, 80, 120}) {
        const Screen screen(heat_map_text(map, {.look = look, .width = width}));
        EXPECT_LE(screen.width(), width) << tokens << " tokens, " << name;
      }
    }
  }
}

// Reads the picture back as a terminal would, and compares every cell with the table.
void expect_cells(const WeightMap& map, const TerminalStyle& style) {
  const Screen screen(heat_map_text(map, style));
  const auto [line, column, width] = screen.first_cells();
  ASSERT_GE(line, 0);
  const ColorScale scale = style.scale(map.is_signed);
  for (Index i = 0; i < map.rows(); ++i) {
    for (Index j = 0; j < map.columns(); ++j) {
      const auto& cell = screen.at(line + static_cast<int>(i / 2), column + static_cast<int>(j) * width);
      const auto color = i % 2 == 0 ? cell.upper() : cell.lower();
      if (!map.sees(i, j)) {
        EXPECT_FALSE(color.has_value()) << i << "," << j;
      } else if (style.look == Look::palette) {
        EXPECT_EQ(color, xterm_rgb(scale.xterm_color(map.weight(i, j)))) << i << "," << j;
      } else {
        EXPECT_EQ(color, scale.color(map.weight(i, j))) << i << "," << j;
      }
    }
  }
}

TEST(HeatMapText, ColoursOfHalfBlocksAreTheTables) {
  for (const Look look : {Look::full_color, Look::palette}) {
    for (const Theme theme : {Theme::light, Theme::dark}) {
      for (const Transfer transfer : {Transfer::linear, Transfer::square_root, Transfer::logarithm}) {
        const TerminalStyle style{.look = look, .theme = theme, .transfer = transfer};
        expect_cells(street_map(false), style);
        expect_cells(street_map(true), style);
        expect_cells(difference(street_map(true), street_map(true, 3)), style);
      }
    }
  }
}

TEST(HeatMapText, MaskedIsNotZero) {
  WeightMap map = street_map(true);
  map.weights[13] = 0;  // "animal" sees "The", and gives it nothing
  const Screen colors(heat_map_text(map, {.look = Look::full_color}));
  const auto [line, column, width] = colors.first_cells();
  EXPECT_EQ(colors.at(line, column).lower(), ColorScale{}.color(0));
  EXPECT_FALSE(colors.at(line, column + 2 * width).lower().has_value());
  const std::string shades = heat_map_text(map, {.look = Look::shades});
  EXPECT_THAT(shades, HasSubstr("animal      ▒▒▒▒····"));
  EXPECT_THAT(shades, HasSubstr("·· not visible"));
  EXPECT_THAT(heat_map_text(map, {.look = Look::ascii}), HasSubstr("animal      ++++////"));
  EXPECT_THAT(heat_map_text(map, {.look = Look::table}), HasSubstr("animal   0.0000  0."));
  EXPECT_THAT(heat_map_text(street_map(false), {.look = Look::shades}), Not(HasSubstr("not visible")));
}

TEST(HeatMapText, LegendNamesTheBoundsOfEveryShade) {
  EXPECT_THAT(heat_map_text(street_map(false), {.look = Look::shades}),
              HasSubstr("' ' 0–0.04  ░ 0.04–0.16  ▒ 0.16–0.36  ▓ 0.36–0.64  █ 0.64–1"));
  const std::string log =
      heat_map_text(street_map(false), {.look = Look::ascii, .transfer = Transfer::logarithm});
  for (const std::string_view glyph : kAsciiShades) {
    EXPECT_THAT(log, HasSubstr(glyph == " " ? "' ' 0" : concat(glyph, " ")));
  }
  EXPECT_THAT(log, HasSubstr("@ 0.398-1"));
}

TEST(HeatMapText, NumbersInCells) {
  const TerminalStyle style{.look = Look::full_color, .width = 100, .numbers = true};
  const Screen screen(heat_map_text(street_map(true), style));
  EXPECT_THAT(screen.text(), HasSubstr("The     1.00"));
  EXPECT_THAT(heat_map_text(street_map(true), {.look = Look::shades, .width = 40, .numbers = true}),
              HasSubstr("Numbers in 13 cells of 4 columns do not\nfit in 40."));
}

TEST(HeatMapText, SaysWhatWasPooled) {
  std::vector<std::string> many(1000, "x");
  WeightMap map = sample_map(many, many, false);
  map.weights[123 * 1000 + 456] = 1;
  const std::string text = heat_map_text(map, {.look = Look::shades});
  EXPECT_THAT(text, HasSubstr("each cell is the largest of"));
  EXPECT_THAT(text, HasSubstr("█"));  // the one strong link is still there
}

TEST(HeatMapText, NumberedColumnsHaveAKey) {
  std::vector<std::string> keys;
  for (int i = 0; i < 40; ++i) keys.push_back(concat("k", i));
  const WeightMap cross = sample_map({"a", "b"}, keys, false);
  EXPECT_THAT(heat_map_text(cross, {.look = Look::shades}), HasSubstr("keys  0 k0  1 k1  2 k2"));
  const WeightMap square = sample_map(keys, keys, false);
  EXPECT_THAT(heat_map_text(square, {.look = Look::shades}),
              HasSubstr("Columns are numbered like the rows."));
}

TEST(HeatMapText, RefusesWhatCannotBeDrawn) {
  WeightMap map = street_map(false);
  map.weights.pop_back();
  expect_error([&] { (void)heat_map_text(map, {}); }, ErrorKind::usage, "draw.map",
               "13 queries and 13 keys need 169 weights, not 168");
  expect_error([&] { (void)heat_map_text(WeightMap{}, {}); }, ErrorKind::usage, "draw.map",
               "nothing to draw");
  map = street_map(true);
  map.weights[1] = std::nanf("");  // masked: nobody reads it
  EXPECT_NO_THROW((void)heat_map_text(map, {}));
  map.weights[0] = std::nanf("");
  expect_error([&] { (void)heat_map_text(map, {}); }, ErrorKind::numeric, "draw.number",
               "from query 0 (The) to key 0 (The) is nan");
}

}  // namespace
}  // namespace headlight::draw::testing
