// The default floating-point mode is set, and the caller's put back.
#include "core/float_mode.h"

#include <gtest/gtest.h>

#include "support/float_modes.h"

namespace headlight::testing {
namespace {

TEST(FloatMode, IsSetAndPutBack) {
  FloatMode ours = 0;
  {
    const DefaultFloatMode mode;
    ours = read_float_mode();
  }
  for (const FloatMode mode : kFloatModes) {
    const WithFloatMode caller(mode);
    {
      const DefaultFloatMode inner;
      EXPECT_EQ(read_float_mode(), ours);
      EXPECT_NE(ours, mode);
    }
    EXPECT_EQ(read_float_mode(), mode);
  }
}

#if defined(__x86_64__)
// Flags that the caller has not read yet are not ours to clear.
TEST(FloatMode, KeepsTheCallersFlags) {
  for (const FloatMode mode : kFloatModes) {
    const WithFloatMode caller(mode | 0x04);  // a division by zero happened
    { const DefaultFloatMode ours; }
    EXPECT_EQ(_mm_getcsr(), mode | 0x04);
  }
}
#endif

}  // namespace
}  // namespace headlight::testing
