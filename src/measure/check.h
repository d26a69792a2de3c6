// Checks the kernels on this machine: every SIMD target that the CPU supports, in every dtype, on a
// few dozen small problems that cover the options, against the reference.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "headlight/attention.h"

namespace headlight::measure {

struct CheckResult {
  SimdTarget target = SimdTarget::automatic;
  DType dtype = DType::f32;
  int cases = 0;
  double worst_error = 0;       // scaled error E; see attention/accuracy.h
  std::string worst_case = {};  // name of the worst case
  double limit = 0;
  double worst_row_sum = 0;  // relative to the limit: 1 is the most allowed
  bool same_bits = true;     // with one and several threads, with and without weights
  std::string failure = {};  // the first error, empty if there is none

  [[nodiscard]] bool good() const { return failure.empty(); }
};

// One small problem: shape and options, described by its name.
struct CheckCase {
  const char* name;
  Index batch = 2, heads = 4, kv_heads = 4, q_len = 33, k_len = 33, dim = 16, value_dim = 16;
  Visibility visible = Visibility::all();
  double softcap = 0;
  std::optional<double> scale = std::nullopt;
  float spread = 1;  // of q: 20 gives scores that overflow unless the maximum is subtracted
  bool alibi = false, bias = false, mask = false, sinks = false, lengths = false;
};
[[nodiscard]] std::span<const CheckCase> check_cases();

using CheckProgress = std::function<void(SimdTarget, DType)>;
[[nodiscard]] std::vector<CheckResult> check_kernels(std::span<const SimdTarget> targets,
                                                     const CheckProgress& progress = {});

}  // namespace headlight::measure
