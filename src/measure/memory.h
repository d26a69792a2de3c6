// Peak resident memory of a long call: fused attention needs O(length), whereas the
// scores alone would be length² numbers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headlight/context.h"
#include "headlight/tensor.h"

namespace headlight::measure {

// One causal head of f32.
struct MemoryCase {
  std::string_view name;
  Index length = 1, dim = 1;
  bool train = false;   // forward and backward
  double limit_mb = 0;  // documented limit, including tensors

  [[nodiscard]] std::string shape_text() const;
};
[[nodiscard]] std::span<const MemoryCase> memory_cases();

// The peak resident memory of the process from here on, in units of 10^6 bytes.
class PeakMemory {
 public:
  PeakMemory();
  [[nodiscard]] std::optional<double> grown_mb() const;  // increase; empty: not reported by the system

 private:
  bool told_;
  double before_;
};

// In units of 10^6 bytes.
struct MemoryResult {
  MemoryCase what;
  int threads = 1;
  double tensors_mb = 0;                // inputs, outputs and gradients
  std::optional<double> grown_mb = {};  // peak resident memory, above that before the tensors; empty:
                                        // not reported by the system
  [[nodiscard]] std::optional<double> extra_mb() const {
    return grown_mb ? std::optional(*grown_mb - tensors_mb) : std::nullopt;
  }
};
[[nodiscard]] MemoryResult measure_memory(const MemoryCase& what, int threads, SimdTarget target);

}  // namespace headlight::measure
