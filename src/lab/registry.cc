#include <vector>

#include "core/nearest.h"
#include "headlight/error.h"
#include "lab/experiment.h"

namespace headlight::lab {
namespace {

constexpr Abilities kTrains{.repeats = true, .draws = true};
constexpr Abilities kLooks{.repeats = true, .draws = true, .model = "en-fr"};

}  // namespace

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> list = {
      {"bottleneck",
       "A list in one vector, with additive attention, and in a transformer: same task and budget",
       run_bottleneck, kTrains},
      {"context", "One word with two meanings: similarity of \"bank\" in 24 sentences, layer by layer",
       run_context, kLooks},
      {"cost",
       "Time and memory against length: attention with its score matrix, fused, and a recurrent layer",
       run_cost, kTrains},
      {"distance", "Attention, GRU and LSTM: recall over growing distances", run_distance, kTrains},
      {"errata", "Wrong numbers in tutorials: as printed, as computed, and the arithmetic", run_errata},
      {"heads", "Roles that heads take on during training", run_heads, kTrains},
      {"ladder",
       "From three loops to the library's kernel: the same attention, each rung timed on this machine",
       run_ladder,
       {.repeats = true}},
      {"mask", "Information that leaks without the causal mask: a loss that is too good to be true", run_mask,
       kTrains},
      {"playground",
       "The presets of the playground: each claim over five seeds; --watch trains one live",
       run_playground,
       {.repeats = true, .lists = true}},
      {"pronouns", "Antecedents of \"it\": il or elle, the head that finds them, and the result without it",
       run_pronouns, kLooks},
      {"scaling", "Scores with and without 1/√d: variance, entropy, gradient and learning", run_scaling,
       kTrains},
      {"seeds",
       "Every claim of the tutorials: holds, illustrative, corrected, or a definition",
       run_seeds,
       {.model = "en-fr", .needs_model = false, .lists = true}},
      {"translation", "Heads that align words, measured against hand-aligned sentences", run_translation,
       kLooks},
  };
  return list;
}

const Experiment& find_experiment(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Experiment& experiment : experiments()) {
    if (experiment.name == name) return experiment;
    names.push_back(experiment.name);
  }
  throw Error(ErrorKind::usage, "lab.name", unknown_name_text("experiment", name, names));
}

}  // namespace headlight::lab
