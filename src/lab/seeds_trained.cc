// Rows that train a model: an experiment in its quick form, and whether it supports the claim. Its numbers are
// printed by the experiment only, because after hundreds of steps they differ between processors.
#include <fmt/format.h>

#include <map>

#include "inspect/head_labels.h"
#include "lab/experiment.h"
#include "lab/seeds_checks.h"

namespace headlight::lab::seeds {
namespace {

// Always small, because a list of claims should take seconds.
Found quick(Outcome (*run)(const LabOptions&), const LabOptions& options, const char* text) {
  LabOptions small;
  small.quick = true;
  small.seed = options.seed;
  small.threads = 1;  // so small that a second thread would only wait
  const Outcome outcome = run(small);
  return {outcome.holds, outcome.holds ? text : outcome.finding};
}

}  // namespace

Found roles_by_training(const LabOptions& options) {
  return quick(
      run_heads, options,
      "trained on repeated tokens, a head learns to attend to the token that followed the last occurrence");
}
Found one_vector(const LabOptions& options) {
  return quick(run_bottleneck, options,
               "lists in reverse: one vector is worse than additive attention and a transformer");
}

// Some heads have one named role; most have several, which were not assigned.
Found heads_with_names(const LabOptions& options) {
  if (options.model == nullptr) return without_model();
  Context ctx({.threads = options.threads});
  const std::vector<std::string> text = {"The cat sat on the mat because it was tired."};
  const std::vector<inspect::LabelledHead> heads = inspect::label_heads(ctx, *options.model, text);
  std::map<inspect::Label, int> count;
  for (const inspect::LabelledHead& head : heads) ++count[head.battery.labels.front()];
  const int unnamed = count[inspect::Label::none], all = static_cast<int>(heads.size());
  return {unnamed > 0 && unnamed < all,
          fmt::format(
              "{} of {} heads have one pattern with a name; the others mix several, and nobody assigned them",
              all - unnamed, all)};
}

}  // namespace headlight::lab::seeds
