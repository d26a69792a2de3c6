// Experiments with a name: small, repeatable, one per file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "draw/drawing.h"
#include "headlight/tensor.h"

namespace headlight::inspect {
struct LoadedModel;
}

namespace headlight::lab {

struct LabOptions {
  std::optional<Index> row = std::nullopt;  // for experiments that are lists: show only this row, in full
  int width = 80;                           // columns of the text
  int threads = 0;                          // 0: one per core
  // Of experiments that train or measure: smaller, in seconds, with the same finding; the first of several seeds.
  bool quick = false;
  std::uint64_t seed = 1;
  // Progress of the experiment: `done` of `total`, and the current activity. May be null: see tell().
  std::function<void(double done, double total, std::string_view what)> progress = nullptr;
  const inspect::LoadedModel* model = nullptr;  // the model to inspect; null if none was requested or found
};

struct Outcome {
  std::string text;          // text output
  std::string json;          // JSON output
  std::string markdown;      // output for documents; empty if there is none
  bool holds = true;         // false: the result does not support the claim
  std::string finding = {};  // the result in a sentence or two; printed before the text
  std::optional<draw::Drawing> figure = std::nullopt;
};

// The options that an experiment supports; others are refused before it runs.
struct Abilities {
  bool repeats = false;         // takes --quick and --seed
  bool draws = false;           // has a figure
  std::string_view model = {};  // the default model that it inspects; empty: it uses no model
  bool needs_model = true;      // false: it also runs without the model
  bool lists = false;           // rows, one of which --row shows in full; --markdown writes them as a page
};

struct Experiment {
  std::string_view name, what;  // "errata", "Wrong numbers in tutorials: …"
  std::function<Outcome(const LabOptions&)> run;
  Abilities can = {};
};

// All experiments. A new one needs a file, a declaration here, and a line in registry.cc.
[[nodiscard]] const std::vector<Experiment>& experiments();
// Throws Error{usage} that lists the names.
[[nodiscard]] const Experiment& find_experiment(std::string_view name);

// Reports progress, if requested.
inline void tell(const LabOptions& options, double done, double total, std::string_view what) {
  if (options.progress) options.progress(done, total, what);
}

[[nodiscard]] Outcome run_bottleneck(const LabOptions& options);
[[nodiscard]] Outcome run_distance(const LabOptions& options);
[[nodiscard]] Outcome run_context(const LabOptions& options);
[[nodiscard]] Outcome run_cost(const LabOptions& options);
[[nodiscard]] Outcome run_ladder(const LabOptions& options);
[[nodiscard]] Outcome run_mask(const LabOptions& options);
[[nodiscard]] Outcome run_translation(const LabOptions& options);
[[nodiscard]] Outcome run_errata(const LabOptions& options);
[[nodiscard]] Outcome run_heads(const LabOptions& options);
[[nodiscard]] Outcome run_playground(const LabOptions& options);
[[nodiscard]] Outcome run_pronouns(const LabOptions& options);
[[nodiscard]] Outcome run_scaling(const LabOptions& options);
[[nodiscard]] Outcome run_seeds(const LabOptions& options);

}  // namespace headlight::lab
