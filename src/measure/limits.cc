#include "measure/limits.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "core/run_tasks.h"
#include "core/thread_pool.h"
#include "measure/limit_loops.h"
#include "measure/machine.h"
#include "measure/timing.h"

namespace headlight::measure {
namespace {

// Keeps a result alive without sharing a cache line between threads.
std::atomic<std::uint64_t> g_sink{0};
void keep(std::uint64_t value) { g_sink.fetch_xor(value, std::memory_order_relaxed); }

// Iterations that take `seconds`, estimated from a run long enough to be timed.
std::int64_t iterations_for(const FmaLoop& loop, double seconds) {
  std::int64_t iterations = 1 << 14;
  for (;;) {
    const double begin = now_seconds();
    keep(loop.run(iterations) > 0 ? 1 : 0);
    const double taken = now_seconds() - begin;
    if (taken > 0.5e-3)
      return std::max<std::int64_t>(1, std::llround(static_cast<double>(iterations) * seconds / taken));
    iterations *= 4;
  }
}

double fma_sample(ThreadPool& pool, const FmaLoop& loop, std::int64_t iterations) {
  const int threads = pool.threads();
  const double begin = now_seconds();
  run_tasks(pool, threads, threads, [&](int, std::int64_t) { keep(loop.run(iterations) > 0 ? 1 : 0); });
  const double seconds = now_seconds() - begin;
  return static_cast<double>(iterations) * loop.flops_per_iteration * threads / seconds * 1e-9;
}

struct Widths {
  int least, most;  // register widths in bits whose loops are tried
};
Widths widths_of(SimdTarget target) {
  switch (target) {
    case SimdTarget::avx512: return {256, 512};
    case SimdTarget::avx2: return {256, 256};
    case SimdTarget::sse4:
    case SimdTarget::neon: return {128, 128};
    case SimdTarget::scalar: return {32, 32};
    default: break;
  }
  const int widest = fma_loops().front().bits;
  return {widest > 256 ? 256 : widest, widest};
}

}  // namespace

PeakSample fma_peak(int threads, int samples, double seconds, SimdTarget target) {
  ThreadPool pool(threads);
  PeakSample best;
  const Widths widths = widths_of(target);
  for (const FmaLoop& loop : fma_loops()) {
    if (loop.bits > widths.most || loop.bits < widths.least) continue;
    const std::int64_t iterations = iterations_for(loop, seconds);
    for (int i = 0; i < samples; ++i) {
      const double gflops = fma_sample(pool, loop, iterations);
      if (gflops > best.gflops) best = {gflops, loop.name};
    }
  }
  return best;
}

void ReadBandwidth::Free::operator()(std::byte* p) const noexcept { std::free(p); }

ReadBandwidth::ReadBandwidth(std::size_t wanted) {
  // At most a quarter of the free memory: measuring must not cause swapping.
  constexpr std::size_t kLeast = std::size_t{1} << 20;
  const std::size_t free = available_memory();
  std::size_t bytes = wanted;
  while (bytes > kLeast && free > 0 && bytes > free / 4) bytes /= 2;
  for (; bytes >= kLeast; bytes /= 2) {
    // Ordinary pages, the default of the system; code that requests huge pages may exceed this rate.
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, bytes)));
    if (data_) break;
  }
  if (!data_) return;
  bytes_ = bytes;
  auto* words = reinterpret_cast<std::uint64_t*>(data_.get());
  for (std::size_t i = 0; i < bytes / 8; ++i) words[i] = i;  // untouched pages would all be one zero page
}

ReadBandwidth::~ReadBandwidth() = default;

double ReadBandwidth::measure(int threads, int passes) const {
  if (!data_) return 0;
  constexpr std::size_t kGrain = 4096;
  const std::size_t pages = bytes_ / kGrain;
  const auto share = static_cast<std::size_t>(threads);
  ThreadPool pool(threads);
  double best = 0;
  for (int pass = 0; pass < passes; ++pass) {
    const double begin = now_seconds();
    run_tasks(pool, threads, threads, [&](int, std::int64_t part) {
      const std::size_t first = pages * static_cast<std::size_t>(part) / share;
      const std::size_t last = pages * (static_cast<std::size_t>(part) + 1) / share;
      keep(read_block(data_.get() + first * kGrain, (last - first) * kGrain));
    });
    best = std::max(best, static_cast<double>(bytes_) / (now_seconds() - begin) * 1e-9);
  }
  return best;
}

}  // namespace headlight::measure
