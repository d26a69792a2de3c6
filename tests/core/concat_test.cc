#include "core/concat.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace headlight::testing {
namespace {

TEST(Concat, TextsOfEveryKind) {
  const std::string text = "four";
  const char* pointer = "two";
  EXPECT_EQ(concat("one ", pointer, ' ', std::string_view("three"), " ", text), "one two three four");
  EXPECT_EQ(concat(), "");
}

TEST(Concat, WholeNumbers) {
  EXPECT_EQ(concat(0, ' ', -7, ' ', std::int64_t{1} << 40, ' ', std::size_t{3}), "0 -7 1099511627776 3");
  EXPECT_EQ(concat(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(concat(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(concat(true, false), "10");
}

// As printf's %g, whatever the locale.
TEST(Concat, RealNumbers) {
  EXPECT_EQ(concat(0.5, ' ', 1e9, ' ', 1.0 / 3, ' ', 1234567.0, ' ', -0.0, ' ', 1e-300),
            "0.5 1e+09 0.333333 1.23457e+06 -0 1e-300");
  EXPECT_EQ(concat(0.1F, ' ', INFINITY, ' ', -INFINITY, ' ', std::nan("")), "0.1 inf -inf nan");
}

}  // namespace
}  // namespace headlight::testing
