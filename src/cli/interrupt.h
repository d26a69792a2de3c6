// For commands that go on after an interrupt.
#pragma once

namespace headlight::cli {

// After catch_stop_signals(): from now on an interrupt ends the program again, and none is noted.
void release_interrupt() noexcept;

}  // namespace headlight::cli
