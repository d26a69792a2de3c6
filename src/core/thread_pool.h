// The default Executor of a Context: persistent threads that sleep while they have no work.
//
// A run touches only the workers it uses. Workers form a tree: each offers the run to two others and, when no task is left,
// withdraws the offers that were not accepted and waits for the workers that accepted. A run therefore never waits for a
// worker that the system has not scheduled yet.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "core/run_tasks.h"
#include "headlight/context.h"

namespace headlight {

class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // A child of fork() has the pool but not its threads: there it runs everything on the calling thread,
  // and destroys the pool without waiting for threads that do not exist.
  [[nodiscard]] static std::shared_ptr<ThreadPool> make(int threads);
  [[nodiscard]] bool forked() const noexcept;

  [[nodiscard]] int threads() const noexcept override { return static_cast<int>(workers_.size()) + 1; }
  // The calling thread is worker 0, and the only one while another thread uses the pool.
  void run(int workers, Work work) override;

 private:
  struct Run;
  struct Worker;
  void serve(int number);
  void take_part(const Run& run, int number);
  void offer(const Run& run, int number);
  void collect(int number);
  [[nodiscard]] Worker& worker(int number) { return *workers_[static_cast<std::size_t>(number - 1)]; }

  unsigned forks_;        // number of fork() calls before the pool was created
  int spins_;             // of a waiting thread, before it sleeps
  std::mutex run_mutex_;  // held by the caller for the length of a run
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace headlight
