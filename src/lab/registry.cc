#include "core/concat.h"
#include "core/escape.h"
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
       "One vector for a whole list, additive attention, a transformer: the same task and budget",
       run_bottleneck, kTrains},
      {"context", "One word, two meanings: how alike \"bank\" is in 24 sentences, layer by layer",
       run_context, kLooks},
      {"cost",
       "Time and memory against length: attention with its score matrix, fused, and a recurrent layer",
       run_cost, kTrains},
      {"distance", "Attention, GRU and LSTM: what is recalled from further and further back", run_distance,
       kTrains},
      {"errata", "Numbers of the tutorials that do not come out: theirs, ours, the arithmetic", run_errata},
      {"heads", "What heads become while a model learns; nobody assigns tasks", run_heads, kTrains},
      {"mask", "What leaks without the causal mask: a loss that is too good to be true", run_mask, kTrains},
      {"pronouns", "What \"it\" stands for: il or elle, the head that finds out, and the same without it",
       run_pronouns, kLooks},
      {"scaling", "Scores with and without 1/√d: variance, entropy, gradient, and what is learnt",
       run_scaling, kTrains},
      {"seeds",
       "Every claim of the tutorials: holds, illustrative, corrected, or a definition",
       run_seeds,
       {.model = "en-fr", .needs_model = false, .lists = true}},
      {"translation", "Which head aligns words, against sentences that were aligned by hand", run_translation,
       kLooks},
  };
  return list;
}

const Experiment& find_experiment(std::string_view name) {
  std::string names;
  for (const Experiment& experiment : experiments()) {
    if (experiment.name == name) return experiment;
    names += concat(names.empty() ? "" : ", ", experiment.name);
  }
  throw Error(ErrorKind::usage, "lab.name",
              concat("no experiment \"", escaped(std::string(name), 60), "\"; there are: ", names));
}

}  // namespace headlight::lab
