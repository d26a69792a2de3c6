#include "core/cpu.h"

#include <gtest/gtest.h>

#include <algorithm>

#if defined(HEADLIGHT_LIBHWY)
#include "hwy/targets.h"
#endif

namespace headlight::testing {
namespace {

#if defined(__x86_64__)

// A bit per instruction set, as Highway 1.0 to 1.4 groups them (hwy/targets.cc).
using Feature = bool CpuFeatures::*;
const std::vector<Feature> kSse4 = {&CpuFeatures::sse3,  &CpuFeatures::ssse3, &CpuFeatures::sse41,
                                    &CpuFeatures::sse42, &CpuFeatures::clmul, &CpuFeatures::aes};
const std::vector<Feature> kAvx2 = {&CpuFeatures::avx,   &CpuFeatures::avx2, &CpuFeatures::f16c,
                                    &CpuFeatures::lzcnt, &CpuFeatures::bmi,  &CpuFeatures::bmi2,
                                    &CpuFeatures::fma};
const std::vector<Feature> kAvx512 = {&CpuFeatures::avx512f, &CpuFeatures::avx512vl, &CpuFeatures::avx512dq,
                                      &CpuFeatures::avx512bw, &CpuFeatures::avx512cd};

CpuFeatures with(std::initializer_list<std::vector<Feature>> groups) {
  CpuFeatures cpu;
  for (const std::vector<Feature>& group : groups)
    for (const Feature feature : group) cpu.*feature = true;
  return cpu;
}

// A target runs with everything that it is compiled for and never with one of it missing: virtual machines
// that have AVX2 and hide F16C or LZCNT exist.
TEST(Cpus, EveryInstructionSetOfATargetIsAskedFor) {
  const CpuFeatures full = with({kSse4, kAvx2, kAvx512});
  const std::vector<std::pair<SimdTarget, std::vector<std::vector<Feature>>>> needs = {
      {SimdTarget::sse4, {kSse4}},
      {SimdTarget::avx2, {kSse4, kAvx2}},
      {SimdTarget::avx512, {kSse4, kAvx2, kAvx512}}};
  for (const auto& [target, groups] : needs) {
    EXPECT_TRUE(can_run(full, target)) << name_of(target);
    for (const auto& group : groups) {
      for (const Feature feature : group) {
        CpuFeatures cpu = full;
        cpu.*feature = false;
        EXPECT_FALSE(can_run(cpu, target)) << name_of(target);
      }
    }
  }
  EXPECT_TRUE(can_run(with({kSse4, kAvx2}), SimdTarget::avx2));
  EXPECT_TRUE(can_run(with({kSse4}), SimdTarget::sse4));
  EXPECT_TRUE(can_run({}, SimdTarget::scalar));
  EXPECT_FALSE(can_run(full, SimdTarget::neon));
}

#if defined(HEADLIGHT_LIBHWY)
// This CPU as Highway itself sees it.
TEST(Cpus, HighwayAgrees) {
  const auto found = hwy::SupportedTargets();
  EXPECT_EQ(can_run(cpu_features(), SimdTarget::sse4), (found & HWY_SSE4) != 0);
  EXPECT_EQ(can_run(cpu_features(), SimdTarget::avx2), (found & HWY_AVX2) != 0);
  EXPECT_EQ(can_run(cpu_features(), SimdTarget::avx512), (found & HWY_AVX3) != 0);
}
#endif

#endif

TEST(Cpus, SupportedTargetsAreThoseThatRun) {
  const std::vector<SimdTarget> found = supported_targets();
  for (const SimdTarget target :
       {SimdTarget::scalar, SimdTarget::sse4, SimdTarget::avx2, SimdTarget::avx512, SimdTarget::neon}) {
    EXPECT_EQ(std::count(found.begin(), found.end(), target), can_run(cpu_features(), target) ? 1 : 0);
  }
  EXPECT_GE(usable_cores(), 1);
}

}  // namespace
}  // namespace headlight::testing
