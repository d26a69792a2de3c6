// headlight-mpi: the headlight program, with MPI. Not started by users: headlight does so, under mpirun.
#include <optional>

#include "cli/app.h"
#include "cli/ranks.h"
#include "cluster/bench.h"
#include "headlight/dist.h"

namespace headlight::cluster {
namespace {

class MpiProcesses final : public cli::Processes {
 public:
  Team& start() override { return group_.emplace(dist::Group::world()); }
  void agree(const cli::Facts& facts) override {
    std::vector<dist::Fact> all;
    for (const auto& [name, value] : facts) all.push_back({name, value});
    dist::agree(*group_, "headlight", all);
  }
  void barrier() override { group_->barrier(); }
  void divide_cores() override { dist::divide_cores(*group_); }
  void bench(const std::string& model, const std::string& link) override { run_bench(*group_, model, link); }
  void finish() override { group_.reset(); }

 private:
  std::optional<dist::Group> group_;
};

}  // namespace
}  // namespace headlight::cluster

int main(int argc, char** argv) {
  headlight::cluster::MpiProcesses processes;
  return headlight::cli::run(argc, argv, &processes);
}
