#include "train/schedule.h"

#include <gtest/gtest.h>

namespace headlight::train {
namespace {

TEST(Schedule, WarmsUpThenFallsAsACosine) {
  const Schedule s{.kind = ScheduleKind::cosine, .peak = 1, .floor = 0.1, .warmup = 10, .steps = 111};
  EXPECT_DOUBLE_EQ(s.rate(0), 0.1);
  EXPECT_DOUBLE_EQ(s.rate(9), 1);
  EXPECT_DOUBLE_EQ(s.rate(10), 1);
  EXPECT_NEAR(s.rate(60), 0.55, 1e-12);
  EXPECT_DOUBLE_EQ(s.rate(110), 0.1);
  EXPECT_DOUBLE_EQ(s.rate(100000), 0.1);
  for (int i = 10; i < 110; ++i) EXPECT_GT(s.rate(i), s.rate(i + 1));
}

TEST(Schedule, InverseSquareRoot) {
  const Schedule s{
      .kind = ScheduleKind::inverse_square_root, .peak = 2, .floor = 0, .warmup = 100, .steps = 0};
  EXPECT_DOUBLE_EQ(s.rate(49), 1);
  EXPECT_DOUBLE_EQ(s.rate(99), 2);
  EXPECT_DOUBLE_EQ(s.rate(399), 1);
  const Schedule cold{
      .kind = ScheduleKind::inverse_square_root, .peak = 1, .floor = 0, .warmup = 0, .steps = 0};
  EXPECT_DOUBLE_EQ(cold.rate(0), 1);
  EXPECT_DOUBLE_EQ(cold.rate(3), 0.5);
}

TEST(Schedule, ConstantAndShortRuns) {
  const Schedule c{.kind = ScheduleKind::constant, .peak = 3, .floor = 0, .warmup = 2, .steps = 5};
  EXPECT_DOUBLE_EQ(c.rate(0), 1.5);
  EXPECT_DOUBLE_EQ(c.rate(1000), 3);
  const Schedule one{.kind = ScheduleKind::cosine, .peak = 1, .floor = 0.5, .warmup = 0, .steps = 1};
  EXPECT_DOUBLE_EQ(one.rate(0), 0.5);
}

}  // namespace
}  // namespace headlight::train
