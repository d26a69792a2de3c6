// For commands that continue after an interrupt.
#pragma once

namespace headlight::cli {

// After catch_stop_signals(): from now on an interrupt ends the program again, and pending ones are cleared.
void release_interrupt() noexcept;

}  // namespace headlight::cli
