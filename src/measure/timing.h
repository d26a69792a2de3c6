// The best of several timed runs. Noise on shared machines only adds time, so the minimum
// repeats; the median is kept to show the noise.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace headlight::measure {

[[nodiscard]] inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct TimingPolicy {
  int min_runs = 7;          // timed runs, after the warm-up
  double min_seconds = 0.5;  // repeat for at least this long, so that short calls run often
  double max_seconds = 60;   // and stop after this time, but not before three runs
};

struct Timing {
  double best = 0, median = 0;  // seconds per call
  int runs = 0;
};

// Times call(). Calls much shorter than the clock's resolution are grouped, so that one timed run lasts at
// least a fifth of a millisecond.
template <class Call>
[[nodiscard]] Timing time_call(const Call& call, const TimingPolicy& policy = {}) {
  constexpr double kGrain = 200e-6;
  call();  // the first call allocates scratch memory and touches pages
  std::int64_t group = 1;
  const auto run = [&] {
    const double begin = now_seconds();
    for (std::int64_t i = 0; i < group; ++i) call();
    return now_seconds() - begin;
  };
  double once = run();
  while (once < kGrain && group < (std::int64_t{1} << 20)) {
    group *= 2;
    once = run();
  }
  std::vector<double> seconds;
  double total = 0;
  const auto enough = [&] {
    const int runs = static_cast<int>(seconds.size());
    if (total >= policy.max_seconds && runs >= 3) return true;
    return runs >= policy.min_runs && total >= policy.min_seconds;
  };
  while (!enough()) {
    seconds.push_back(run());
    total += seconds.back();
  }
  std::sort(seconds.begin(), seconds.end());
  const double per_call = 1.0 / static_cast<double>(group);
  return {seconds.front() * per_call, seconds[seconds.size() / 2] * per_call,
          static_cast<int>(seconds.size())};
}

}  // namespace headlight::measure
