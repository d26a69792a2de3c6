// Experiments with a name: small, repeatable, and each in a file of its own.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/tensor.h"

namespace headlight::lab {

struct LabOptions {
  std::optional<Index> row = std::nullopt;  // of experiments that are lists: this one alone, in full
  int width = 80;                           // columns of the text
  int threads = 0;                          // 0: one per core
};

struct Outcome {
  std::string text;      // for people
  std::string json;      // for scripts
  std::string markdown;  // for documents; empty where nobody needs it
  bool holds = true;     // false: something did not come out as it should
};

struct Experiment {
  std::string_view name, what;  // "errata", "numbers printed elsewhere that do not come out"
  std::function<Outcome(const LabOptions&)> run;
};

// All of them. A new one is one file, its function declared here, and one line in registry.cc.
[[nodiscard]] const std::vector<Experiment>& experiments();
// Throws Error{usage} that lists the names.
[[nodiscard]] const Experiment& find_experiment(std::string_view name);

[[nodiscard]] Outcome run_errata(const LabOptions& options);
[[nodiscard]] Outcome run_seeds(const LabOptions& options);

}  // namespace headlight::lab
