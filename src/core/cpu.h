// Instruction sets of this CPU.
#pragma once

#include <vector>

#include "headlight/context.h"

namespace headlight {

// Instruction sets that Highway's targets are compiled with, as far as the CPU and the system allow them.
struct CpuFeatures {
  bool sse3 = false, ssse3 = false, sse41 = false, sse42 = false, clmul = false, aes = false;
  bool avx = false, avx2 = false, f16c = false, lzcnt = false, bmi = false, bmi2 = false, fma = false;
  bool avx512f = false, avx512vl = false, avx512dq = false, avx512bw = false, avx512cd = false;
};
[[nodiscard]] CpuFeatures cpu_features() noexcept;
// Each target requires the features that Highway's own test requires (hwy/targets.cc), since compilers use all of them.
[[nodiscard]] bool can_run(const CpuFeatures& cpu, SimdTarget target) noexcept;

// Cores this process may use, which under taskset or in a container is less than the machine has.
[[nodiscard]] int usable_cores();

}  // namespace headlight
