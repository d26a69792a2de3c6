#include "core/nearest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headlight {
namespace {

TEST(NearestName, IsTheLeastTypingAway) {
  const std::vector<std::string_view> known = {"width", "heads", "layers", "learning_rate", ""};
  EXPECT_EQ(nearest_name("head", known), "heads");
  EXPECT_EQ(nearest_name("lerning_rate", known), "learning_rate");
  EXPECT_EQ(nearest_name("layers", known), "layers");
  EXPECT_EQ(nearest_name("zzz", known), "");
  EXPECT_EQ(nearest_name("x", {}), "");
  EXPECT_EQ(nearest_typed_name("lay", known), "layers");
  EXPECT_EQ(nearest_typed_name("haeds", known), "heads");
  EXPECT_EQ(nearest_typed_name("eads", known), "");
  EXPECT_EQ(nearest_typed_name("-", known), "");
  EXPECT_EQ(nearest_name(std::string(1 << 20, 'w'), known), "");
}

}  // namespace
}  // namespace headlight
