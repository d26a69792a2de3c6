// The tables: zero next to the page, even steps of lightness, readable by everybody's eyes.
#include "draw/color.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace headlight::draw {
namespace {

double lightness(Rgb c) { return contrast(c, {0, 0, 0}); }

struct Linear {
  double r, g, b;
};

double linear(std::uint8_t v) {
  const double x = v / 255.0;
  return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
}

// What the eye of a person without one kind of cones sees (Viénot, Brettel and Mollon, 1999; for blue
// cones the same construction by Machado, Oliveira and Fernandes, 2009).
constexpr double kNoReds[9] = {0.11238, 0.88762, 0, 0.11238, 0.88762, 0, 0.00401, -0.00401, 1};
constexpr double kNoGreens[9] = {0.29275, 0.70725, 0, 0.29275, 0.70725, 0, -0.02234, 0.02234, 1};
constexpr double kNoBlues[9] = {1.255528, -0.076749, -0.178779, -0.078411, 0.930809,
                                0.147602, 0.004733,  0.691367,  0.3039};

Linear seen(Rgb c, const double* m) {
  const double r = linear(c.r), g = linear(c.g), b = linear(c.b);
  return {m[0] * r + m[1] * g + m[2] * b, m[3] * r + m[4] * g + m[5] * b, m[6] * r + m[7] * g + m[8] * b};
}

double luminance(const Linear& c) { return 0.2126 * c.r + 0.7152 * c.g + 0.0722 * c.b; }

class Palettes : public ::testing::TestWithParam<Palette> {};
INSTANTIATE_TEST_SUITE_P(All, Palettes, ::testing::ValuesIn(kPalettes),
                         [](const auto& made) { return std::string(name_of(made.param)); });

TEST_P(Palettes, LightnessOnlyRisesOrOnlyFalls) {
  for (const Theme theme : {Theme::light, Theme::dark}) {
    const ColorScale scale{.theme = theme, .palette = GetParam()};
    const double direction = theme == Theme::dark ? 1 : -1;
    for (std::size_t i = 1; i < 256; ++i) {
      const Rgb a = scale.color_at(i - 1), b = scale.color_at(i);
      EXPECT_GT(direction * lightness(b), direction * lightness(a)) << i;
      for (const double* eye : {kNoReds, kNoGreens, kNoBlues})
        EXPECT_GT(direction * luminance(seen(b, eye)), direction * luminance(seen(a, eye))) << i;
    }
  }
}

TEST_P(Palettes, ZeroLiesNextToThePage) {
  for (const Theme theme : {Theme::light, Theme::dark}) {
    const Rgb page = page_colors(theme).background;
    const ColorScale scale{.theme = theme, .palette = GetParam()};
    EXPECT_LT(contrast(scale.color(0), page), 1.15);
    EXPECT_GT(contrast(scale.color(1), page), 12);
  }
}

TEST(ColorTables, PagesAreReadable) {
  for (const Theme theme : {Theme::light, Theme::dark}) {
    const Rgb page = page_colors(theme).background;
    EXPECT_LT(contrast(ColorScale{.theme = theme, .is_signed = true}.color(0), page), 1.25);
    EXPECT_GE(contrast(page_colors(theme).ink, page), 7);
    EXPECT_GE(contrast(page_colors(theme).quiet, page), 4.5);
  }
}

TEST(ColorTables, SignedIsSymmetricAndItsEndsAreFarApart) {
  for (const Theme theme : {Theme::light, Theme::dark}) {
    const ColorScale scale{.theme = theme, .is_signed = true};
    EXPECT_EQ(scale.color_at(127), scale.color_at(128));
    for (std::size_t i = 0; i < 128; ++i)
      EXPECT_NEAR(lightness(scale.color_at(i)) / lightness(scale.color_at(255 - i)), 1, 0.22) << i;
    for (const double* eye : {kNoReds, kNoGreens, kNoBlues}) {
      const Linear low = seen(scale.color_at(30), eye), high = seen(scale.color_at(225), eye);
      EXPECT_GT(std::abs(low.b - high.b) + std::abs(low.r - high.r), 0.1);
    }
  }
}

TEST_P(Palettes, InkReadsOnEveryColour) {
  for (const Theme theme : {Theme::light, Theme::dark}) {
    for (const bool is_signed : {false, true}) {
      const ColorScale scale{.theme = theme, .is_signed = is_signed, .palette = GetParam()};
      for (std::size_t i = 0; i < 256; ++i)
        EXPECT_GE(contrast(scale.color_at(i), ink_on(scale.color_at(i))), 4.5);
    }
  }
}

TEST_P(Palettes, XtermsColoursRiseOrFallToo) {
  for (const Theme theme : {Theme::light, Theme::dark}) {
    const ColorScale scale{.theme = theme, .transfer = Transfer::linear, .palette = GetParam()};
    const ColorScale both{.theme = theme, .transfer = Transfer::linear, .is_signed = true};
    const double direction = theme == Theme::dark ? 1 : -1;
    for (int i = 1; i <= 100; ++i) {
      const auto rises = [&](const ColorScale& s, double from, double to) {
        return direction *
                   (lightness(xterm_rgb(s.xterm_color(to))) - lightness(xterm_rgb(s.xterm_color(from)))) >=
               0;
      };
      EXPECT_TRUE(rises(scale, (i - 1) / 100.0, i / 100.0)) << i;
      EXPECT_TRUE(rises(both, (i - 1) / 100.0, i / 100.0)) << i;
      EXPECT_TRUE(rises(both, (1 - i) / 100.0, -i / 100.0)) << i;
    }
  }
}

TEST(Transfer, EndsAndMiddle) {
  EXPECT_EQ(transferred(0.25, Transfer::linear), 0.25);
  EXPECT_EQ(transferred(0.25, Transfer::square_root), 0.5);
  EXPECT_NEAR(transferred(0.01, Transfer::logarithm), 0.5, 1e-12);
  EXPECT_EQ(transferred(1e-4, Transfer::logarithm), 0);
  EXPECT_EQ(transferred(1e-9, Transfer::logarithm), 0);
  EXPECT_EQ(transferred(-0.25, Transfer::square_root), -0.5);
  for (const Transfer transfer : {Transfer::linear, Transfer::square_root, Transfer::logarithm}) {
    EXPECT_EQ(transferred(0, transfer), 0);
    EXPECT_EQ(transferred(7, transfer), 1);
    EXPECT_EQ(transferred(std::nan(""), transfer), 0);
    for (const double x : {0.001, 0.2, 0.9, 1.0}) {
      EXPECT_NEAR(untransferred(transferred(x, transfer), transfer), x, 1e-12);
      EXPECT_NEAR(untransferred(transferred(-x, transfer), transfer), -x, 1e-12);
    }
  }
}

TEST(ColorScale, EntriesAndTop) {
  const ColorScale linear{.transfer = Transfer::linear};
  EXPECT_EQ(linear.entry(0.5), 128U);
  EXPECT_EQ(linear.entry(1), 255U);
  EXPECT_EQ(linear.entry(-3), 0U);
  EXPECT_EQ((ColorScale{.transfer = Transfer::linear, .top = 0.5}.entry(0.25)), 128U);
  const ColorScale both{.transfer = Transfer::linear, .is_signed = true};
  EXPECT_EQ(both.entry(-1), 0U);
  EXPECT_EQ(both.entry(1), 255U);
  EXPECT_EQ(both.color(0), both.color_at(127));
}

}  // namespace
}  // namespace headlight::draw
