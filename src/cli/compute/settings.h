// Options of `headlight compute`.
#pragma once

#include <optional>
#include <string>

#include "cli/compute/inputs.h"
#include "cli/json_output.h"
#include "headlight/attention.h"
#include "headlight/context.h"

namespace headlight::cli {

enum class Implementation { fast, reference };

struct ComputeSettings {
  ComputeFiles files;
  bool causal = false;
  Visibility visible;
  std::optional<double> scale, softcap, dropout;
  Index seed = 0;
  Implementation implementation = Implementation::fast;
  ContextOptions context;
  Index threads = 0;
  std::optional<DType> dtype;
  std::string out, lse, max, entropy, weights, topk_index, topk_weight, received;
  std::string dq, dk, dv, dbias, dsinks;
  std::optional<Index> topk;
  JsonTarget json;

  [[nodiscard]] bool gradients() const {
    return !dq.empty() || !dk.empty() || !dv.empty() || !dbias.empty() || !dsinks.empty();
  }
};

// Reads the inputs, computes, writes the results.
void run_compute(ComputeSettings& settings);

}  // namespace headlight::cli
