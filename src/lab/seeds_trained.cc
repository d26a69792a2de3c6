// Rows that train something: an experiment in its quick form, and what it found.
#include "lab/experiment.h"
#include "lab/seeds_checks.h"

namespace headlight::lab::seeds {
namespace {

// Always small: a list of claims is to be read in seconds.
Found quick(Outcome (*run)(const LabOptions&), const LabOptions& options) {
  LabOptions small;
  small.quick = true;
  small.seed = options.seed;
  small.threads = options.threads;
  const Outcome outcome = run(small);
  return {outcome.holds, outcome.finding};
}

}  // namespace

Found roles_by_training(const LabOptions& options) { return quick(run_heads, options); }
Found one_vector(const LabOptions& options) { return quick(run_bottleneck, options); }

}  // namespace headlight::lab::seeds
