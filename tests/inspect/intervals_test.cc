#include "inspect/intervals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace headlight::inspect {
namespace {

TEST(Intervals, WilsonHasItsPublishedValues) {
  // 81 of 263, and none of ten: the examples of Newcombe (1998).
  EXPECT_NEAR(wilson(81, 263).low, 0.2553, 5e-5);
  EXPECT_NEAR(wilson(81, 263).high, 0.3662, 5e-5);
  EXPECT_EQ(wilson(0, 20).low, 0);
  EXPECT_NEAR(wilson(0, 20).high, 0.1611, 5e-5);
  EXPECT_NEAR(wilson(1, 29).low, 0.0061, 5e-5);
  EXPECT_EQ(wilson(0, 0).high, 1);
}

TEST(Intervals, BootstrapAgreesWithTheNormalOneAndWithItself) {
  std::vector<double> values;
  for (int i = 0; i < 400; ++i) values.push_back(std::sin(i) + 2);
  double mean = 0, square = 0;
  for (const double x : values) mean += x / 400, square += x * x / 400;
  const double reach = 1.96 * std::sqrt((square - mean * mean) / 400);
  const Interval interval = bootstrap_mean(values), again = bootstrap_mean(values);
  EXPECT_NEAR(interval.low, mean - reach, 0.15 * reach);
  EXPECT_NEAR(interval.high, mean + reach, 0.15 * reach);
  EXPECT_EQ(interval.low, again.low);
  EXPECT_EQ(interval.high, again.high);
  EXPECT_EQ(bootstrap_mean(std::vector<double>{0.5, 0.5, 0.5}).low, 0.5);
}

}  // namespace
}  // namespace headlight::inspect
