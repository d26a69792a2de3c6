// One process runs models, and others multiply some columns of their stored matrices for it. For programs in which
// only one process knows the next request, such as the viewer; otherwise all processes of a team run the model (team_product.h).
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/thread_pool.h"
#include "headlight/team.h"
#include "nn/packed_product.h"
#include "nn/team_product.h"

namespace headlight::nn {

// Matrices of a model, in an order that all processes share.
using Matrices = std::vector<const StoredMatrix*>;

// Used by process 0. Models run with a Context that has this executor; results have the bits of one process.
class LeadExecutor final : public Executor {
 public:
  LeadExecutor(Team& team, int threads);
  ~LeadExecutor() override;
  LeadExecutor(const LeadExecutor&) = delete;
  LeadExecutor& operator=(const LeadExecutor&) = delete;
  [[nodiscard]] int threads() const noexcept override { return pool_->threads(); }
  void run(int workers, Work work) override { pool_->run(workers, work); }

  // The other processes open the model `name`, and then multiply its matrices. Other matrices are multiplied here.
  void open(const std::string& name, const Matrices& matrices);
  // Releases the other processes. Without it, they wait until their timeout.
  void finish();
  // Called by multiply_stored() with this executor.
  void multiply(const ConstTensorView& x, std::span<const Factor> factors, Activations activations,
                const MultiplyHere& multiply);

 private:
  void keep_awake();

  Team& team_;
  std::shared_ptr<ThreadPool> pool_;
  std::mutex mutex_;  // a team makes one call at a time
  std::condition_variable finished_;
  bool done_ = false;
  std::thread awake_;
  std::map<const std::byte*, std::uint64_t> places_;
  std::uint64_t matrices_ = 0;  // of all models; two may share memory
};

// Used by the other processes: multiplies what process 0 requests until it releases them. open(name): the matrices of that
// model, which must not move.
void help_leader(Team& team, int threads, const std::function<Matrices(const std::string& name)>& open);

}  // namespace headlight::nn
