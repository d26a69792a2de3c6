// Time of a call, for experiments about cost.
#pragma once

#include <functional>

namespace headlight::lab {

// Processor seconds of the fastest of several calls on this thread, after a warm-up; other processes may use the machine at
// time. Calls are repeated for `at_least` seconds.
[[nodiscard]] double best_time(const std::function<void()>& call, double at_least);

}  // namespace headlight::lab
