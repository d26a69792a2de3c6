// Tests that run once per SIMD target of this machine.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "headlight/context.h"

namespace headlight::testing {

[[nodiscard]] inline std::string target_name(const ::testing::TestParamInfo<SimdTarget>& row) {
  return std::string(name_of(row.param));
}

}  // namespace headlight::testing
