// Ctrl-C for commands that finish cleanly.
#pragma once

#include <atomic>

namespace headlight::cli {

// From now on the first signal (interrupt, terminate, hang-up) is only recorded in this variable. The second ends
// everything at once.
[[nodiscard]] std::atomic<int>& catch_stop_signals() noexcept;

}  // namespace headlight::cli
