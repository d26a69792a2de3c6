#include "draw/text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "draw/color.h"

namespace headlight::draw {
namespace {

TEST(Text, WidthOnATerminal) {
  EXPECT_EQ(display_width(""), 0);
  EXPECT_EQ(display_width("journey"), 7);
  EXPECT_EQ(display_width("naïve"), 5);
  EXPECT_EQ(display_width("nai\u0308ve"), 5);  // a combining mark
  EXPECT_EQ(display_width("猫が"), 4);
  EXPECT_EQ(display_width("\xff"), 1);  // broken text still moves on
}

TEST(Text, AlignsAndShortens) {
  EXPECT_EQ(left_aligned("猫", 4), "猫  ");
  EXPECT_EQ(right_aligned("猫", 4), "  猫");
  EXPECT_EQ(shortened("journey", 4), "jou…");
  EXPECT_EQ(shortened("猫が猫が", 4), "猫…");
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abc", 0), "");
}

TEST(Text, WrapsAtSpaces) {
  EXPECT_EQ(wrapped("one two three", 7, 0), "one two\nthree");
  EXPECT_EQ(wrapped("one two three", 9, 2), "one two\n  three");
  EXPECT_EQ(wrapped("extraordinary x", 5, 0), "extraordinary\nx");
}

TEST(Text, Bars) {
  EXPECT_EQ(bar(0.5, 4, Glyphs::unicode), "██");
  EXPECT_EQ(bar(0.25 + 1.0 / 32, 4, Glyphs::unicode), "█▏");
  EXPECT_EQ(bar(0.5, 4, Glyphs::ascii), "##");
  EXPECT_EQ(bar(-1, 4, Glyphs::ascii), "");
  EXPECT_EQ(bar(7, 4, Glyphs::ascii), "####");
}

double lightness(Rgb c) { return contrast(c, {0, 0, 0}); }

TEST(Color, ScaleRisesAndStaysReadable) {
  for (int i = 0; i <= 100; ++i) {
    const double x = i / 100.0;
    EXPECT_GE(contrast(weight_color(x), ink_on(weight_color(x))), 4.5) << x;
    const Rgb indexed = xterm_rgb(weight_xterm_color(x));
    EXPECT_GE(contrast(indexed, ink_on(indexed)), 4.5) << x;
    if (i == 0) continue;
    EXPECT_GE(lightness(weight_color(x)), lightness(weight_color(x - 0.01)) - 1e-9) << x;
    EXPECT_GE(lightness(indexed), lightness(xterm_rgb(weight_xterm_color(x - 0.01))) - 1e-9) << x;
  }
  EXPECT_EQ(weight_color(-1), weight_color(0));
  EXPECT_EQ(weight_color(2), weight_color(1));
  EXPECT_EQ(weight_color(std::nan("")), weight_color(0));
}

}  // namespace
}  // namespace headlight::draw
