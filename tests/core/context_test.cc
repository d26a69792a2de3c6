#include "headlight/context.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <thread>

#include "headlight/attention.h"
#include "support/errors.h"
#include "support/sanitizers.h"

namespace headlight::testing {
namespace {

TEST(Contexts, ThreadsAreCheckedOrCounted) {
  EXPECT_GE(Context({.threads = 0}).threads(), 1);
  EXPECT_EQ(Context({.threads = 1}).threads(), 1);
  EXPECT_EQ(Context({.threads = 5}).threads(), 5);
  for (const int threads :
       {-1, 1'000'000, 1025, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
    expect_error([&] { const Context ctx({.threads = threads}); }, ErrorKind::usage, "context.threads",
                 "Context: " + std::to_string(threads) + " threads; need 1 to 1024, or 0 for one per core");
  }
}

TEST(Contexts, TargetsHaveNames) {
  for (const SimdTarget target : {SimdTarget::automatic, SimdTarget::scalar, SimdTarget::sse4,
                                  SimdTarget::avx2, SimdTarget::avx512, SimdTarget::neon}) {
    EXPECT_EQ(parse_simd_target(name_of(target)), target);
  }
  for (const char* name : {"avx1024", "", "AVX2", "avx2 "}) {
    expect_error([&] { (void)parse_simd_target(name); }, ErrorKind::usage, "context.target",
                 std::string("SIMD target \"") + name +
                     "\" is unknown; targets are auto, scalar, sse4, avx2, avx512, neon");
  }
}

TEST(Contexts, TheBestTargetUnlessAnotherIsAskedFor) {
  const std::vector<SimdTarget> supported = supported_targets();
  ASSERT_FALSE(supported.empty());
  EXPECT_EQ(Context({.threads = 1}).target(), supported.front());
  for (const SimdTarget target : supported)
    EXPECT_EQ(Context({.threads = 1, .target = target}).target(), target);
}

// An error when the Context is made, never an illegal instruction later.
TEST(Contexts, ATargetThisCpuLacksIsRefused) {
  const std::vector<SimdTarget> supported = supported_targets();
  int refused = 0;
  for (const SimdTarget target :
       {SimdTarget::scalar, SimdTarget::sse4, SimdTarget::avx2, SimdTarget::avx512, SimdTarget::neon}) {
    if (std::find(supported.begin(), supported.end(), target) != supported.end()) continue;
    expect_error([&] { const Context ctx({.threads = 1, .target = target}); }, ErrorKind::usage,
                 "context.target",
                 "Context: this CPU cannot run SIMD target " + std::string(name_of(target)) +
                     "; its best is " + std::string(name_of(supported.front())));
    ++refused;
  }
  EXPECT_GT(refused, 0) << "no CPU has both AVX-512 and NEON";
  expect_error([] { const Context ctx({.threads = 1, .target = static_cast<SimdTarget>(99)}); },
               ErrorKind::usage, "context.target", "cannot run SIMD target unknown");
}

TEST(Contexts, ScratchGrowsAndStays) {
  Context ctx({.threads = 2});
  EXPECT_EQ(ctx.scratch_bytes(), 0U);
  std::byte* first = ctx.scratch(0, 100);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 4096, 0U);
  EXPECT_EQ(ctx.scratch_bytes(), 4096U);
  EXPECT_EQ(ctx.scratch(0, 4096), first) << "what fits is kept";
  EXPECT_EQ(ctx.scratch(0, 1), first);
  std::byte* larger = ctx.scratch(0, 100'000);
  std::memset(larger, 1, 100'000);
  EXPECT_EQ(ctx.scratch(0, 4096), larger) << "and never shrinks";
  const std::size_t held = ctx.scratch_bytes();
  EXPECT_GE(held, 100'000U);
  std::byte* others[] = {ctx.scratch(1, 10), ctx.scratch(Context::kShared, 10),
                         ctx.scratch(Context::kRows, 10)};
  for (std::byte* other : others) EXPECT_NE(other, larger);
  EXPECT_NE(others[0], others[1]);
  EXPECT_NE(others[1], others[2]);
  EXPECT_EQ(ctx.scratch_bytes(), held + 3 * 4096);
}

TEST(Contexts, ScratchSaysWhenMemoryIsOut) {
  Context ctx({.threads = 1});
  (void)ctx.scratch(0, 5000);
  expect_error([&] { (void)ctx.scratch(0, std::numeric_limits<std::size_t>::max()); }, ErrorKind::resource,
               "context.memory", "18446744073709551615 bytes");
  if (kSanitized) GTEST_SKIP() << "a sanitizer's allocator ends the program";
  expect_error([&] { (void)ctx.scratch(0, std::numeric_limits<std::size_t>::max() / 2); },
               ErrorKind::resource, "context.memory",
               "attention: no memory for 9223372036854775807 bytes of scratch");
  EXPECT_EQ(ctx.scratch_bytes(), 0U) << "nothing is held, nothing is lost";
  std::memset(ctx.scratch(0, 5000), 1, 5000);
}

}  // namespace
}  // namespace headlight::testing
