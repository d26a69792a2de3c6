// Limits are numbers of this machine; only what holds on every machine is asserted.
#include "measure/limits.h"

#include <gtest/gtest.h>

#include "measure/limit_loops.h"
#include "measure/machine.h"
#include "measure/timing.h"

namespace headlight::measure {
namespace {

TEST(Limits, EveryLoopRunsOnThisCpuAndStaysFinite) {
  ASSERT_FALSE(fma_loops().empty());
  for (const FmaLoop& loop : fma_loops()) {
    const float sum = loop.run(1000);
    EXPECT_GT(sum, 0) << loop.name;
    EXPECT_LT(sum, 1e6) << loop.name;
  }
}

TEST(Limits, PeakNamesItsLoop) {
  const PeakSample sample = fma_peak(1, 1, 1e-3);
  EXPECT_GT(sample.gflops, 0);
  EXPECT_STRNE(sample.loop, "");
}

TEST(Limits, ReadsWhatWasWritten) {
  alignas(64) std::uint64_t words[64];
  for (std::uint64_t i = 0; i < 64; ++i) words[i] = i;
  // Sums the first words of each vector at least: not zero, and the same each time.
  const std::uint64_t sum = read_block(reinterpret_cast<const std::byte*>(words), sizeof words);
  EXPECT_GT(sum, 0U);
  EXPECT_EQ(sum, read_block(reinterpret_cast<const std::byte*>(words), sizeof words));
}

TEST(Limits, BandwidthOfASmallBuffer) {
  const ReadBandwidth memory(std::size_t{4} << 20);
  EXPECT_EQ(memory.bytes(), std::size_t{4} << 20);
  EXPECT_GT(memory.measure(1, 1), 0);
  EXPECT_GT(memory.measure(3, 1), 0);
}

TEST(Timing, GroupsShortCallsAndKeepsTheBest) {
  int calls = 0;
  const Timing timing = time_call([&] { ++calls; }, {.min_runs = 7, .min_seconds = 0});
  EXPECT_GE(timing.runs, 7);
  EXPECT_GT(calls, 1000);  // one call is far below the clock's grain
  EXPECT_LE(timing.best, timing.median);
}

TEST(Machine, KnowsItsTargets) {
  const Machine machine = describe_machine();
  EXPECT_FALSE(machine.cpu.empty());
  EXPECT_GE(machine.cores, 1);
  EXPECT_GE(machine.page_size, 512U);
  const std::vector<SimdTarget> compiled = compiled_targets();
  for (const SimdTarget target : supported_targets()) {
    EXPECT_NE(std::find(compiled.begin(), compiled.end(), target), compiled.end()) << name_of(target);
  }
}

}  // namespace
}  // namespace headlight::measure
