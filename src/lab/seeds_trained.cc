// Rows that train something: an experiment in its quick form, and whether it found what is claimed. Its numbers are
// for the experiment itself to print: after hundreds of steps they differ from processor to processor.
#include "lab/experiment.h"
#include "lab/seeds_checks.h"

namespace headlight::lab::seeds {
namespace {

// Always small: a list of claims is to be read in seconds.
Found quick(Outcome (*run)(const LabOptions&), const LabOptions& options, std::string text) {
  LabOptions small;
  small.quick = true;
  small.seed = options.seed;
  small.threads = options.threads;
  const Outcome outcome = run(small);
  return {outcome.holds, outcome.holds ? std::move(text) : outcome.finding};
}

}  // namespace

Found roles_by_training(const LabOptions& options) {
  return quick(run_heads, options,
               "trained on repeated tokens, a head comes to look at what followed the same token last time");
}
Found one_vector(const LabOptions& options) {
  return quick(run_bottleneck, options,
               "lists said backwards: one vector loses to additive attention and to a transformer");
}

}  // namespace headlight::lab::seeds
