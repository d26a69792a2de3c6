// Time and memory of the parts of a training step (gpt_step), each timed separately at its own size.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headlight/context.h"

namespace headlight::measure {

struct ProfilePart {
  std::string name;
  double ms = 0;      // in one step: forward and backward, all layers
  double gflops = 0;  // 0: it mostly moves memory
};

// In units of 10^6 bytes.
struct StepMemory {
  double parameters_mb = 0;             // with their gradients
  double optimizer_mb = 0;              // two moments each
  double activations_mb = 0;            // kept by layers for the backward pass
  std::optional<double> grown_mb = {};  // increase of peak resident memory; empty: not reported
  [[nodiscard]] double needed_mb() const { return parameters_mb + optimizer_mb + activations_mb; }
};

struct TrainProfile {
  int threads = 1;
  double step_ms = 0;              // the whole step, timed together
  std::vector<ProfilePart> parts;  // sum of the parts; the rest is embeddings, additions and waiting
  StepMemory memory;
};

[[nodiscard]] TrainProfile profile_step(Context& ctx,
                                        const std::function<void(std::string_view doing)>& progress = {});

[[nodiscard]] std::string to_table(const TrainProfile& profile);
[[nodiscard]] std::string to_json(const TrainProfile& profile);

}  // namespace headlight::measure
