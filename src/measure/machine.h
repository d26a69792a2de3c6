// The machine that a measurement was made on.
#pragma once

#include <cstddef>
#include <string>

namespace headlight::measure {

struct Machine {
  std::string cpu;            // "AMD EPYC 7713", or "unknown CPU"
  int cores = 1;              // that this process may use
  std::size_t page_size = 0;  // bytes
  std::size_t memory = 0;     // bytes, 0 when unknown
  std::size_t available = 0;  // bytes, 0 when unknown
};

[[nodiscard]] Machine describe_machine();
[[nodiscard]] std::size_t available_memory();

}  // namespace headlight::measure
