#include "core/cpu.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "core/concat.h"
#include "headlight/error.h"

namespace headlight {
namespace {

struct Name {
  SimdTarget target;
  std::string_view text;
};
constexpr std::array<Name, 6> kNames = {{{SimdTarget::automatic, "auto"},
                                         {SimdTarget::scalar, "scalar"},
                                         {SimdTarget::sse4, "sse4"},
                                         {SimdTarget::avx2, "avx2"},
                                         {SimdTarget::avx512, "avx512"},
                                         {SimdTarget::neon, "neon"}}};

}  // namespace

CpuFeatures cpu_features() noexcept {
  CpuFeatures cpu;
#if defined(__x86_64__)
  __builtin_cpu_init();  // accounts for the registers that the system saves
  cpu.sse3 = __builtin_cpu_supports("sse3") != 0;
  cpu.ssse3 = __builtin_cpu_supports("ssse3") != 0;
  cpu.sse41 = __builtin_cpu_supports("sse4.1") != 0;
  cpu.sse42 = __builtin_cpu_supports("sse4.2") != 0;
  cpu.clmul = __builtin_cpu_supports("pclmul") != 0;
  cpu.aes = __builtin_cpu_supports("aes") != 0;
  cpu.avx = __builtin_cpu_supports("avx") != 0;
  cpu.avx2 = __builtin_cpu_supports("avx2") != 0;
  cpu.bmi = __builtin_cpu_supports("bmi") != 0;
  cpu.bmi2 = __builtin_cpu_supports("bmi2") != 0;
  cpu.fma = __builtin_cpu_supports("fma") != 0;
  cpu.avx512f = __builtin_cpu_supports("avx512f") != 0;
  cpu.avx512vl = __builtin_cpu_supports("avx512vl") != 0;
  cpu.avx512dq = __builtin_cpu_supports("avx512dq") != 0;
  cpu.avx512bw = __builtin_cpu_supports("avx512bw") != 0;
  cpu.avx512cd = __builtin_cpu_supports("avx512cd") != 0;
  // Not every compiler accepts these two names.
  unsigned a = 0, b = 0, c = 0, d = 0;
  cpu.f16c = cpu.avx && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & (1U << 29)) != 0;
  cpu.lzcnt = __get_cpuid(0x80000001U, &a, &b, &c, &d) != 0 && (c & (1U << 5)) != 0;
#endif
  return cpu;
}

bool can_run(const CpuFeatures& cpu, SimdTarget target) noexcept {
#if defined(__x86_64__)
  const bool sse4 = cpu.sse3 && cpu.ssse3 && cpu.sse41 && cpu.sse42 && cpu.clmul && cpu.aes;
  const bool avx2 = sse4 && cpu.avx && cpu.avx2 && cpu.f16c && cpu.lzcnt && cpu.bmi && cpu.bmi2 && cpu.fma;
  const bool avx512 = avx2 && cpu.avx512f && cpu.avx512vl && cpu.avx512dq && cpu.avx512bw && cpu.avx512cd;
  switch (target) {
    case SimdTarget::sse4: return sse4;
    case SimdTarget::avx2: return avx2;
    case SimdTarget::avx512: return avx512;
    case SimdTarget::scalar: return true;
    default: return false;
  }
#elif defined(__aarch64__)
  return (void)cpu, target == SimdTarget::neon;
#else
  return (void)cpu, target == SimdTarget::scalar;
#endif
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::string_view name_of(SimdTarget target) noexcept {
  for (const Name& name : kNames) {
    if (name.target == target) return name.text;
  }
  return "unknown";
}

SimdTarget parse_simd_target(std::string_view text) {
  for (const Name& name : kNames) {
    if (name.text == text) return name.target;
  }
  throw Error(
      ErrorKind::usage, "context.target",
      concat("SIMD target \"", text, "\" is unknown; targets are auto, scalar, sse4, avx2, avx512, neon"));
}

std::vector<SimdTarget> supported_targets() {
  const CpuFeatures cpu = cpu_features();
  std::vector<SimdTarget> found;
  for (const SimdTarget target :
       {SimdTarget::avx512, SimdTarget::avx2, SimdTarget::sse4, SimdTarget::neon, SimdTarget::scalar}) {
    if (can_run(cpu, target)) found.push_back(target);
  }
  return found;
}

}  // namespace headlight
