#include "draw/curves.h"

#include <gtest/gtest.h>

#include <cmath>

#include "draw/arrange.h"
#include "headlight/error.h"
#include "support/errors.h"

namespace headlight::draw {
namespace {

CurveChart chart(std::size_t points) {
  CurveChart c;
  c.title = "A title with é and 猫";
  Curve train{"training", {}, curve_color(0), false}, valid{"validation", {}, curve_color(1), true};
  for (std::size_t i = 0; i < points; ++i) {
    const auto x = static_cast<double>(i);
    train.points.push_back({x, 5 * std::exp(-x / 50)});
    if (i % 10 == 0) valid.points.push_back({x, 6 * std::exp(-x / 60)});
  }
  c.curves = {train, valid};
  return c;
}

TEST(Curves, TicksAreRound) {
  EXPECT_EQ(ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(ticks(0.9, 3.1, 4), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(ticks(-1, 1, 4), (std::vector<double>{-1, -0.5, 0, 0.5, 1}));
  EXPECT_TRUE(ticks(1, 1, 4).empty());
  EXPECT_TRUE(ticks(0, INFINITY, 4).empty());
  EXPECT_EQ(tick_text(0, 500), "0");
  EXPECT_EQ(tick_text(1500, 500), "1500");
  EXPECT_EQ(tick_text(20000, 5000), "20k");
  EXPECT_EQ(tick_text(0.25, 0.05), "0.25");
  EXPECT_EQ(tick_text(2, 0.5), "2.0");
}

TEST(Curves, EveryFormatAndTheSameBytesAgain) {
  for (const PictureFormat format : {PictureFormat::png, PictureFormat::svg, PictureFormat::pdf}) {
    const std::string picture = encoded(draw_curves(chart(200)), format, 100);
    EXPECT_GT(picture.size(), 3000U);
    EXPECT_TRUE(encoded(draw_curves(chart(200)), format, 100) == picture);
    EXPECT_TRUE(encoded(draw_curves(chart(190)), format, 100) != picture);
  }
}

TEST(Curves, LinesCanBeSeen) {
  int lines = 0;
  for (const DrawingItem& item : draw_curves(chart(200)).items) {
    const auto* line = std::get_if<LineItem>(&item);
    if (line == nullptr) continue;
    ++lines;
    EXPECT_EQ(line->alpha, 1);
    EXPECT_GT(line->width, 0);
  }
  EXPECT_GT(lines, 10);
}

TEST(Curves, NumbersOfBestPointsCoverNoOther) {
  CurveChart c = chart(200);
  c.curves.clear();
  for (const double low : {1.18, 1.4, 1.5})
    c.curves.push_back({"run", {{0, 5}, {100, low}}, curve_color(0), true});
  std::vector<Box> numbers;
  std::vector<Point> best;
  for (const DrawingItem& item : draw_curves(c).items) {
    if (const auto* box = std::get_if<RectangleItem>(&item); box != nullptr && box->box.height == 14)
      numbers.push_back(box->box);
    if (const auto* ring = std::get_if<LineItem>(&item); ring != nullptr && ring->width == 3.6)
      best.push_back({ring->points[0].x - 1.8, ring->points[0].y});
  }
  ASSERT_EQ(numbers.size(), 3U);
  ASSERT_EQ(best.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    for (const Point& p : best) EXPECT_FALSE(numbers[i].y - 3 < p.y && p.y < numbers[i].bottom() + 3);
    for (std::size_t j = 0; j < i; ++j) EXPECT_GE(std::abs(numbers[i].y - numbers[j].y), 12.5);
  }
}

TEST(Curves, NothingIsDrawnAboveTheFrame) {
  CurveChart c = chart(200);
  c.curves[0].points[0].y = 1e6;  // a loss that begins far above where it soon is
  const Drawing drawing = draw_curves(c);
  for (const DrawingItem& item : drawing.items) {
    const auto* line = std::get_if<LineItem>(&item);
    if (line == nullptr) continue;
    for (const Point& p : line->points) EXPECT_GE(p.y, 40);
  }
}

TEST(Curves, OddNumbersAreDrawnOrRefused) {
  CurveChart c = chart(3);
  c.curves[0].points[1].y = NAN;
  c.curves[0].points[2].y = INFINITY;
  (void)draw_curves(c);
  CurveChart flat = chart(1);
  (void)draw_curves(flat);
  CurveChart none;
  testing::expect_error([&] { (void)draw_curves(none); }, ErrorKind::input, "draw.curves",
                        "there are no points");
  // Many points become a bounded file.
  EXPECT_LT(encoded(draw_curves(chart(100000)), PictureFormat::svg).size(), 400000U);
}

TEST(Curves, LogarithmicAxes) {
  Axis axis{.kind = AxisKind::logarithmic};
  EXPECT_FALSE(axis.takes(0));
  EXPECT_FALSE(axis.takes(-1));
  axis.add(1);
  axis.add(10000);
  EXPECT_NEAR(axis.place(100), 0.5, 1e-12);
  std::string texts;
  for (const AxisTick& tick : axis.numbers(6)) texts += tick.text + " ";
  EXPECT_EQ(texts, "1 10 100 1000 10k ");
  Axis narrow{.kind = AxisKind::logarithmic};
  narrow.add(1);
  narrow.add(12);
  texts.clear();
  for (const AxisTick& tick : narrow.numbers(6)) texts += tick.text + " ";
  EXPECT_EQ(texts, "1 2 5 10 ");
  EXPECT_EQ(power_text(0.5), "0.5");
  EXPECT_EQ(power_text(3e-5), "3e-05");
  EXPECT_EQ(power_text(20000), "20k");
  EXPECT_EQ(power_text(2.5e6), "2.5M");
}

// A power of x is a straight line, and what has no logarithm is not drawn.
TEST(Curves, PowersAreStraightLines) {
  CurveChart c;
  c.x_axis = c.y_axis = AxisKind::logarithmic;
  c.curves = {{.label = "square", .points = {{0, 1}, {2, 4}, {8, 64}, {32, 1024}}, .color = curve_color(0)}};
  const Drawing drawing = draw_curves(c);
  std::vector<Point> found;
  for (const DrawingItem& item : drawing.items)
    if (const auto* line = std::get_if<LineItem>(&item); line != nullptr && line->points.size() == 3)
      found = line->points;
  ASSERT_EQ(found.size(), 3U);
  EXPECT_NEAR(found[1].x - found[0].x, found[2].x - found[1].x, 1e-9);
  EXPECT_NEAR(found[1].y - found[0].y, found[2].y - found[1].y, 1e-9);
}

TEST(Curves, SpreadsAreBarsInsideThePicture) {
  CurveChart c = chart(5);
  c.curves.resize(1);
  c.curves[0].spread.assign(5, {0.5, 20});
  const Drawing drawing = draw_curves(c);
  int bars = 0;
  for (const DrawingItem& item : drawing.items)
    if (const auto* line = std::get_if<LineItem>(&item)) bars += line->width == 1.2 ? 1 : 0;
  EXPECT_EQ(bars, 15);  // a bar with two ends for each point
  c.curves[0].guide = true;
  bool dashed = false;
  for (const DrawingItem& item : draw_curves(c).items)
    if (const auto* line = std::get_if<LineItem>(&item)) dashed = dashed || !line->dashes.empty();
  EXPECT_TRUE(dashed);
}

TEST(Curves, BelowEachOther) {
  const Drawing one = draw_curves(chart(5));
  const Drawing both = below_each_other({draw_curves(chart(5)), draw_curves(chart(5))});
  EXPECT_EQ(both.height, 2 * one.height);
  EXPECT_EQ(both.items.size(), 2 * one.items.size());
  const auto& first = std::get<TextItem>(both.items[0]);
  const auto& second = std::get<TextItem>(both.items[one.items.size()]);
  EXPECT_EQ(second.at.y, first.at.y + one.height);
  testing::expect_error([] { (void)below_each_other({}); }, ErrorKind::usage, "draw.arrange",
                        "nothing to draw");
}

}  // namespace
}  // namespace headlight::draw
