#include "measure/limit_loops.h"

#include <array>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace headlight::measure {
namespace {

// Twelve independent accumulators: two pipes with a latency of four need eight in flight, and twelve
// hide the loop overhead. The values stay near 1 (x ← 0.999·x + 0.001), so no
// denormal or infinity can slow the loop down.
constexpr float kFactor = 0.999F;
constexpr float kAddend = 0.001F;
constexpr int kChains = 12;

#if defined(__x86_64__)

// Inline assembly because a compiler may legally merge, reorder or spill the chains of an intrinsic
// loop; here each iteration is these twelve instructions and a counter.
#define HEADLIGHT_TWELVE_FMAS                                                            \
  "vfmadd213ps %13, %12, %0\n\tvfmadd213ps %13, %12, %1\n\tvfmadd213ps %13, %12, %2\n\t" \
  "vfmadd213ps %13, %12, %3\n\tvfmadd213ps %13, %12, %4\n\tvfmadd213ps %13, %12, %5\n\t" \
  "vfmadd213ps %13, %12, %6\n\tvfmadd213ps %13, %12, %7\n\tvfmadd213ps %13, %12, %8\n\t" \
  "vfmadd213ps %13, %12, %9\n\tvfmadd213ps %13, %12, %10\n\tvfmadd213ps %13, %12, %11\n\t"

__attribute__((noinline, target("avx2,fma"))) float fma_avx2(std::int64_t iterations) {
  const __m256 x = _mm256_set1_ps(kFactor), y = _mm256_set1_ps(kAddend);
  __m256 a0 = y, a1 = y, a2 = y, a3 = y, a4 = y, a5 = y, a6 = y, a7 = y, a8 = y, a9 = y, a10 = y, a11 = y;
  for (std::int64_t i = 0; i < iterations; ++i) {
    asm volatile(HEADLIGHT_TWELVE_FMAS
                 : "+x"(a0), "+x"(a1), "+x"(a2), "+x"(a3), "+x"(a4), "+x"(a5), "+x"(a6), "+x"(a7), "+x"(a8),
                   "+x"(a9), "+x"(a10), "+x"(a11)
                 : "x"(x), "x"(y));
  }
  const __m256 sum = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11;
  return _mm256_cvtss_f32(sum);
}

__attribute__((noinline, target("avx512f"))) float fma_avx512(std::int64_t iterations) {
  const __m512 x = _mm512_set1_ps(kFactor), y = _mm512_set1_ps(kAddend);
  __m512 a0 = y, a1 = y, a2 = y, a3 = y, a4 = y, a5 = y, a6 = y, a7 = y, a8 = y, a9 = y, a10 = y, a11 = y;
  for (std::int64_t i = 0; i < iterations; ++i) {
    asm volatile(HEADLIGHT_TWELVE_FMAS
                 : "+v"(a0), "+v"(a1), "+v"(a2), "+v"(a3), "+v"(a4), "+v"(a5), "+v"(a6), "+v"(a7), "+v"(a8),
                   "+v"(a9), "+v"(a10), "+v"(a11)
                 : "v"(x), "v"(y));
  }
  const __m512 sum = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11;
  return _mm512_cvtss_f32(sum);
}

#undef HEADLIGHT_TWELVE_FMAS
#endif  // x86-64

#if defined(__aarch64__)
__attribute__((noinline)) float fma_neon(std::int64_t iterations) {
  const float32x4_t x = vdupq_n_f32(kFactor), y = vdupq_n_f32(kAddend);
  // Four pipes with a latency of four: sixteen in flight. fmla adds onto its destination, so the
  // chain is a ← a + x·y instead; its growth over one sample stays far from infinity.
  std::array<float32x4_t, 16> a;
  a.fill(y);
  for (std::int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 16
    for (float32x4_t& chain : a) chain = vfmaq_f32(chain, x, y);
  }
  float32x4_t sum = a[0];
  for (std::size_t i = 1; i < a.size(); ++i) sum = vaddq_f32(sum, a[i]);
  return vgetq_lane_f32(sum, 0);
}
#endif

// CPUs without fused multiply-add: a multiplication and an addition on 128-bit registers.
using Floats = float __attribute__((vector_size(16)));
__attribute__((noinline)) float multiply_add_128(std::int64_t iterations) {
  const Floats x = {kFactor, kFactor, kFactor, kFactor}, y = {kAddend, kAddend, kAddend, kAddend};
  std::array<Floats, kChains> a;
  a.fill(y);
  for (std::int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
    for (Floats& chain : a) chain = chain * x + y;
  }
  Floats sum = a[0];
  for (std::size_t i = 1; i < a.size(); ++i) sum += a[i];
  return sum[0];
}

// One number at a time; the empty statement prevents the compiler from merging the chains.
__attribute__((noinline)) float multiply_add_32(std::int64_t iterations) {
  std::array<float, kChains> a;
  a.fill(kAddend);
  for (std::int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
    for (float& chain : a) {
      chain = chain * kFactor + kAddend;
#if defined(__x86_64__)
      asm volatile("" : "+x"(chain));
#endif
    }
  }
  float sum = 0;
  for (const float chain : a) sum += chain;
  return sum;
}

std::vector<FmaLoop> find_loops() {
  std::vector<FmaLoop> loops;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) loops.push_back({"avx512", 512, kChains * 16 * 2, fma_avx512});
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    loops.push_back({"avx2", 256, kChains * 8 * 2, fma_avx2});
  }
  loops.push_back({"sse2", 128, kChains * 4 * 2, multiply_add_128});
#elif defined(__aarch64__)
  loops.push_back({"neon", 128, 16 * 4 * 2, fma_neon});
#else
  loops.push_back({"plain", 128, kChains * 4 * 2, multiply_add_128});
#endif
  loops.push_back({"scalar", 32, kChains * 2, multiply_add_32});
  return loops;
}

// Eight accumulators, so that memory is the limit, not the latency of additions.
template <class Words>
[[gnu::always_inline]] inline std::uint64_t add_words(const std::byte* data, std::size_t bytes) {
  std::array<Words, 8> sum{};
  const auto* words = reinterpret_cast<const Words*>(data);
  for (std::size_t i = 0; i < bytes / sizeof(Words); i += 8) {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < 8; ++j) sum[j] += words[i + j];
  }
  std::uint64_t total = 0;
  for (const Words& each : sum) total += each[0] + each[1];
  return total;
}

using Words16 = std::uint64_t __attribute__((vector_size(16), may_alias));
std::uint64_t read_128(const std::byte* data, std::size_t bytes) { return add_words<Words16>(data, bytes); }

#if defined(__x86_64__)
using Words32 = std::uint64_t __attribute__((vector_size(32), may_alias));
__attribute__((target("avx2"))) std::uint64_t read_256(const std::byte* data, std::size_t bytes) {
  return add_words<Words32>(data, bytes);
}
#endif

}  // namespace

std::span<const FmaLoop> fma_loops() {
  static const std::vector<FmaLoop> loops = find_loops();
  return loops;
}

std::uint64_t read_block(const std::byte* data, std::size_t bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return read_256(data, bytes);
#endif
  return read_128(data, bytes);
}

}  // namespace headlight::measure
