#include "draw/arrange.h"

#include <gtest/gtest.h>

#include "draw/curves.h"
#include "support/errors.h"

namespace headlight::draw {
namespace {

Drawing chart() {
  CurveChart c;
  c.title = "Two points";
  c.curves = {{"training", {{0, 1}, {10, 2}}, curve_color(0), false}};
  return draw_curves(c);
}

// The first text that is the same as this.
TextItem text_of(const Drawing& drawing, std::string_view words) {
  for (const DrawingItem& item : drawing.items)
    if (const auto* text = std::get_if<TextItem>(&item); text != nullptr && text->text == words) return *text;
  ADD_FAILURE() << words;
  return {};
}

TEST(Framed, IsTheSameDrawingUnlessSomethingIsAsked) {
  EXPECT_TRUE(encoded(framed(chart(), {}), PictureFormat::svg) == encoded(chart(), PictureFormat::svg));
}

TEST(Framed, GrowsWithItsLetters) {
  const Drawing as_drawn = chart();
  const TextItem label = text_of(as_drawn, "training");
  EXPECT_EQ(usual_font_size(as_drawn), kCurveLetters);
  for (const Frame& frame : {Frame{.width_mm = 2 * as_drawn.width / kPointsPerMillimetre},
                             Frame{.font_size = 2 * kCurveLetters}}) {
    const Drawing twice = framed(chart(), frame);
    EXPECT_NEAR(twice.width, 2 * as_drawn.width, 1e-9);
    EXPECT_NEAR(twice.height, 2 * as_drawn.height, 1e-9);
    EXPECT_EQ(twice.items.size(), as_drawn.items.size());
    const TextItem larger = text_of(twice, "training");
    EXPECT_NEAR(larger.at.x, 2 * label.at.x, 1e-9);
    EXPECT_NEAR(larger.at.y, 2 * label.at.y, 1e-9);
    EXPECT_NEAR(larger.look.size, 2 * label.look.size, 1e-9);
  }
}

TEST(Framed, PutsWordsAboveAndBelow) {
  const Drawing as_drawn = chart();
  const Drawing words = framed(chart(), {.font_size = 22, .title = "Above", .caption = "Below"});
  const double top = text_of(words, "Above").at.y, bottom = text_of(words, "Below").at.y;
  EXPECT_LT(top, text_of(words, "Two points").at.y);
  EXPECT_GT(bottom, text_of(words, "step").at.y);
  EXPECT_LT(bottom, words.height);
  EXPECT_GT(words.height, 2 * as_drawn.height + top);
  EXPECT_NEAR(text_of(words, "Below").look.size, 0.95 * 22, 1e-9);
  // Without a title nothing moves down.
  EXPECT_EQ(text_of(framed(chart(), {.caption = "Below"}), "step").at.y, text_of(as_drawn, "step").at.y);
}

TEST(Framed, RefusesSizesThatCannotBe) {
  testing::expect_error([] { (void)framed(chart(), {.width_mm = 3}); }, ErrorKind::usage, "draw.style",
                        "width in mm 3 is not between 20 and 2000");
}

}  // namespace
}  // namespace headlight::draw
