#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "lab/experiment.h"

namespace headlight::lab {

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> list = {
      {"errata", "Numbers of the tutorials that do not come out: theirs, ours, the arithmetic", run_errata},
      {"seeds", "Every claim of the tutorials, computed: holds, illustrative or corrected", run_seeds},
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
