// The machine on which a measurement was made.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headlight/context.h"

namespace headlight::measure {

struct Machine {
  std::string cpu;            // "AMD EPYC 7713", or "unknown CPU"
  int cores = 1;              // that this process may use
  std::size_t page_size = 0;  // bytes
  std::size_t memory = 0;     // bytes, 0 when unknown
  std::size_t available = 0;  // bytes, 0 when unknown
};

[[nodiscard]] Machine describe_machine();
// "AMD EPYC 7713, 2 cores"
[[nodiscard]] std::string title(const Machine& machine);
// The SIMD targets that this program was compiled for; the CPU may not support all of them.
[[nodiscard]] std::vector<SimdTarget> compiled_targets();
[[nodiscard]] std::size_t available_memory();

}  // namespace headlight::measure
