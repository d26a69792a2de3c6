#include "lab/timing.h"

#include <algorithm>
#include <cmath>
#include <ctime>

namespace headlight::lab {
namespace {

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

double best_time(const std::function<void()>& call, double at_least) {
  call();
  double best = INFINITY, total = 0;
  for (int runs = 0; runs < 3 || (total < at_least && runs < 10000); ++runs) {
    const double begin = thread_seconds();
    call();
    const double took = thread_seconds() - begin;
    best = std::min(best, took);
    total += took;
  }
  return best;
}

}  // namespace headlight::lab
