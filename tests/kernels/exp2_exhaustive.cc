// exp2 of all 2^32 floats on every SIMD target, against the C library's exp2 in double:
//
//   build/release/tests/exp2_exhaustive [TARGET...]
//
// The softmax only ever calls it with x <= 0 (a score minus the largest score) or NaN. There it must be
// within 1 ULP where the result is a normal number; below, 0 or within 1 ULP of the denormal; exactly 0
// for -inf and all x <= -126.5; exactly 1 for both zeros; NaN for every NaN. For positive x it is within
// 1 ULP up to 127; beyond, any answer will do as long as there is one. Takes some minutes.
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "headlight/error.h"
#include "kernels/kernels.h"
#include "support/ulp.h"

namespace {

using headlight::SimdTarget;

constexpr std::uint64_t kAll = std::uint64_t{1} << 32, kChunk = 1 << 16;

struct Tally {
  double worst_negative = 0, worst_positive = 0;  // ULP
  float at_negative = 0, at_positive = 0;         // where
  std::uint64_t checked = 0, wrong = 0;
  float first_wrong = 0;

  void add(const Tally& other) {
    if (other.worst_negative > worst_negative)
      worst_negative = other.worst_negative, at_negative = other.at_negative;
    if (other.worst_positive > worst_positive)
      worst_positive = other.worst_positive, at_positive = other.at_positive;
    if (wrong == 0) first_wrong = other.first_wrong;
    checked += other.checked;
    wrong += other.wrong;
  }
};

void check(float x, double truth, float y, Tally& tally) {
  ++tally.checked;
  bool right = true;
  if (std::isnan(x)) {
    right = std::isnan(y);
  } else if (x <= -126.5f) {
    right = std::bit_cast<std::uint32_t>(y) == 0;
  } else if (x == 0) {
    right = y == 1;
  } else if (x <= 127) {
    const double error = headlight::testing::float_ulp_error(y, truth);
    right = error <= 1 || (x < -126 && y == 0);
    double& worst = x < 0 ? tally.worst_negative : tally.worst_positive;
    if (error > worst) worst = error, (x < 0 ? tally.at_negative : tally.at_positive) = x;
  }
  if (!right && tally.wrong++ == 0) tally.first_wrong = x;
}

// Takes chunk after chunk; the truth is computed once for all targets.
void work(const std::vector<SimdTarget>& targets, std::atomic<std::uint64_t>& next,
          std::vector<Tally>& tallies) {
  std::vector<float> x(kChunk), y(kChunk);
  std::vector<double> truth(kChunk);
  for (std::uint64_t first; (first = next.fetch_add(kChunk)) < kAll;) {
    for (std::uint64_t i = 0; i < kChunk; ++i) {
      x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(first + i));
      truth[i] = x[i] > -127 && x[i] <= 127 ? std::exp2(static_cast<double>(x[i])) : 0;
    }
    for (std::size_t t = 0; t < targets.size(); ++t) {
      headlight::kernels::kernels_for(targets[t])
          .f32.exp2(x.data(), static_cast<headlight::Index>(kChunk), y.data());
      for (std::uint64_t i = 0; i < kChunk; ++i) check(x[i], truth[i], y[i], tallies[t]);
    }
  }
}

int run(const std::vector<SimdTarget>& targets) {
  const auto start = std::chrono::steady_clock::now();
  std::atomic<std::uint64_t> next{0};
  std::vector<Tally> total(targets.size());
  std::mutex mutex;
  std::atomic<int> running{2};
  std::vector<std::thread> threads;
  for (int n = 0; n < 2; ++n) {
    threads.emplace_back([&] {
      std::vector<Tally> mine(targets.size());
      work(targets, next, mine);
      const std::lock_guard lock(mutex);
      for (std::size_t t = 0; t < targets.size(); ++t) total[t].add(mine[t]);
      --running;
    });
  }
  while (running.load() > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const double done = std::min(1.0, static_cast<double>(next.load()) / static_cast<double>(kAll));
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    std::fprintf(stderr, "\r%5.1f %%, %.0f s to go   ", 100 * done,
                 done > 0 ? spent.count() * (1 - done) / done : 0);
  }
  for (std::thread& thread : threads) thread.join();
  std::fputs("\r                              \r", stderr);

  bool good = true;
  std::printf("%-8s %11s  %-31s %-31s %s\n", "target", "floats", "worst ULP for x < 0",
              "worst ULP for 0 < x <= 127", "exceptions");
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const Tally& tally = total[t];
    std::printf("%-8s %11llu  %.4f at %-21.9g %.4f at %-21.9g %llu", name_of(targets[t]).data(),
                static_cast<unsigned long long>(tally.checked), tally.worst_negative,
                static_cast<double>(tally.at_negative), tally.worst_positive,
                static_cast<double>(tally.at_positive), static_cast<unsigned long long>(tally.wrong));
    if (tally.wrong > 0) std::printf(", one at %.9g", static_cast<double>(tally.first_wrong));
    std::printf("\n");
    good = good && tally.wrong == 0 && tally.checked == kAll;
  }
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<SimdTarget> targets;
    for (int i = 1; i < argc; ++i) {
      // A Context refuses what this CPU cannot run.
      targets.push_back(
          headlight::Context({.threads = 1, .target = headlight::parse_simd_target(argv[i])}).target());
    }
    return run(targets.empty() ? headlight::supported_targets() : targets);
  } catch (const headlight::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
