// Time for tests of what must be linear: a limit that only quadratic work exceeds.
#pragma once

#include <ctime>

namespace headlight::testing {

// Seconds of processor time that this process has used. Not time of day, because the machine may be busy with others.
inline double work_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace headlight::testing
