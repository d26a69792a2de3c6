// The unfused path on a BLAS of one's choice: scores by one product, softmax, output by another.
//
//   peer_unfused full_512_64 2 libblis.so.4
#include <cstdlib>
#include <memory>

#include "measure/unfused.h"
#include "peer.h"

namespace headlight::peers {
namespace {

// Everything a Way refers to, kept until the program ends.
struct State {
  std::unique_ptr<measure::Cblas> blas;
  std::unique_ptr<measure::Unfused> unfused;
};

std::string short_name(const std::string& library) {
  if (library.find("openblas") != std::string::npos) return "openblas";
  if (library.find("blis") != std::string::npos) return "blis";
  if (library.find("dnnl") != std::string::npos) return "onednn";
  return library;
}

Peer make(measure::WorkloadData& data, int threads, const std::vector<std::string>& arguments) {
  static State state;
  const std::string library = arguments.empty() ? "" : arguments[0];
  const measure::Workload& w = data.workload();
  const auto split = measure::Unfused::faster_split(w.batch * w.heads, w.flops(), threads);
  // Libraries on OpenMP read this when they are loaded; each of our threads then has a team of its own.
  const std::string team = std::to_string(split == measure::Unfused::Split::heads ? 1 : threads);
  setenv("OMP_NUM_THREADS", team.c_str(), 1);
  state.blas = measure::Cblas::load(library);
  if (!state.blas) throw Error(ErrorKind::file, "peer.library", library + " cannot be loaded");
  state.unfused = std::make_unique<measure::Unfused>(*state.blas, threads, split);
  const AttentionOutputs outputs = data.outputs();
  const auto run = [&data, outputs] {
    state.unfused->forward(data.q(), data.k(), data.v(), data.workload().causal, outputs.out,
                           outputs.weights);
  };
  return {short_name(library), state.blas->name(), {{"unfused", run, outputs.out}}};
}

}  // namespace
}  // namespace headlight::peers

int main(int argc, char** argv) {
  return headlight::peers::peer_main(argc, argv, argc > 3 ? headlight::peers::short_name(argv[3]) : "unfused",
                                     headlight::peers::make);
}
