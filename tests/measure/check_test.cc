#include "measure/check.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace headlight::measure {
namespace {

TEST(CheckCases, CoverEveryOptionWithDistinctNames) {
  std::vector<std::string> names;
  bool alibi = false, bias = false, mask = false, sinks = false, lengths = false, cap = false, groups = false;
  for (const CheckCase& c : check_cases()) {
    names.emplace_back(c.name);
    alibi |= c.alibi, bias |= c.bias, mask |= c.mask, sinks |= c.sinks, lengths |= c.lengths;
    cap |= c.softcap > 0, groups |= c.heads != c.kv_heads;
  }
  EXPECT_TRUE(alibi && bias && mask && sinks && lengths && cap && groups);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace headlight::measure
