// What does it cost to hand tasks to threads? Measures an empty run and a run of short tasks for 2 to 64 threads on however
// many cores there are, and computes what a machine with a core for every thread has to expect.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

#include "core/cpu.h"
#include "core/run_tasks.h"
#include "core/thread_pool.h"

namespace {

using headlight::Executor;
using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); }

// The median of many runs of `tasks` tasks that compute for about `work` microseconds each.
double median_run(Executor& pool, int limit, int tasks, double work, int runs) {
  std::vector<double> times;
  for (int n = 0; n < runs; ++n) {
    const auto begin = Clock::now();
    headlight::run_tasks(pool, tasks, limit, [&](int, std::int64_t) {
      const auto start = Clock::now();
      while (work > 0 && microseconds(Clock::now() - start) < work) {}
    });
    times.push_back(microseconds(Clock::now() - begin));
  }
  std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
  return times[static_cast<std::size_t>(runs) / 2];
}

// A machine with a core for every thread, all of them spinning. `line`: a cache line that goes from core to core;
// `task`: what a task takes. Workers are reached one after the other (flat) or as a tree, and the counter of tasks is one line.
struct Machine {
  double line = 0.1, task = 5;  // microseconds

  // When worker w hears of a run: the depth of the tree, two lines for each level.
  [[nodiscard]] double start_tree(int worker) const { return 2 * line * std::floor(std::log2(worker + 1)); }
  [[nodiscard]] double start_flat(int worker) const { return line * worker; }

  // Simulates the workers' walk over the counter; returns when the last one has reported back.
  [[nodiscard]] double run(int threads, int tasks, bool tree) const {
    std::vector<double> free_at;
    for (int w = 0; w < threads; ++w) free_at.push_back(tree ? start_tree(w) : start_flat(w));
    double counter = 0;  // when its line is free again
    for (int n = 0; n < tasks; ++n) {
      const auto next = std::min_element(free_at.begin(), free_at.end());
      counter = std::max(counter, *next) + line;
      *next = counter + task;
    }
    double last = *std::max_element(free_at.begin(), free_at.end());
    return last + (tree ? start_tree(threads - 1) : line * (threads - 1));
  }
};

}  // namespace

int main() {
  const int cores = headlight::usable_cores();
  std::printf("measured on %d cores, microseconds (median of 500 runs)\n", cores);
  std::printf("%8s %14s %14s %16s %16s\n", "threads", "empty, all", "empty, 2", "64 x 5 us, all",
              "64 x 5 us, 2");
  for (const int threads : {2, 4, 8, 16, 32, 64}) {
    headlight::ThreadPool pool(threads);
    std::printf("%8d %14.1f %14.1f %16.1f %16.1f\n", threads, median_run(pool, threads, threads, 0, 500),
                median_run(pool, 2, threads, 0, 500), median_run(pool, threads, 64, 5, 500),
                median_run(pool, 2, 64, 5, 500));
  }
  const Machine machine;
  std::printf(
      "\ncomputed for one core per thread, %.1f us per cache line: 8 tasks of %.0f us for every thread\n",
      machine.line, machine.task);
  std::printf("%8s %12s %12s %12s\n", "threads", "no cost", "flat", "tree");
  for (const int threads : {2, 4, 8, 16, 32, 64}) {
    std::printf("%8d %12.1f %12.1f %12.1f\n", threads, 8 * machine.task,
                machine.run(threads, 8 * threads, false), machine.run(threads, 8 * threads, true));
  }
  return 0;
}
