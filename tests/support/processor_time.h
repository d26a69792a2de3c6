// Processor time of this program: the machine may be busy with others.
#pragma once

#include <ctime>

#include "support/sanitizers.h"

namespace headlight::testing {

// The limit, in seconds, for what is linear and would take minutes if it were not.
inline constexpr double kPatience = kSanitized ? 10 : 1;

template <class Work>
double processor_seconds(const Work& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

}  // namespace headlight::testing
