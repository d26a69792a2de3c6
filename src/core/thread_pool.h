// A persistent pool. run() hands out task numbers 0 … tasks-1 in order to whoever is free, and
// returns when all are done. The caller works too, as worker 0.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace headlight {

class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // A child of fork() has the pool but not its threads: there it runs everything on the calling thread,
  // and lets go of the pool without waiting for threads that do not exist.
  [[nodiscard]] static std::shared_ptr<ThreadPool> make(int threads);
  [[nodiscard]] bool forked() const noexcept;

  [[nodiscard]] int threads() const noexcept { return static_cast<int>(workers_.size()) + 1; }

  // task(worker, number); must not throw. Never uses more than `limit` workers. A call from inside a
  // task, or while another thread uses the pool, runs on the calling thread alone: no deadlock.
  template <class Task>
  void run(std::int64_t tasks, int limit, const Task& task) {
    run_erased(
        tasks, limit,
        [](const void* self, int worker, std::int64_t number) {
          (*static_cast<const Task*>(self))(worker, number);
        },
        &task);
  }

 private:
  using Call = void (*)(const void*, int, std::int64_t);
  void run_erased(std::int64_t tasks, int limit, Call call, const void* self);
  void work(int worker);
  void take_tasks(int worker);

  unsigned forks_;  // how often this process had forked off when we started
  std::vector<std::thread> workers_;
  std::mutex run_mutex_;  // held by the caller for the length of a run
  std::mutex mutex_;      // guards sleeping and waking
  std::condition_variable wake_;
  std::atomic<std::uint64_t> generation_{0};  // odd bits of news: a run began, or stop
  std::atomic<bool> stop_{false};
  std::atomic<int> sleeping_{0};

  Call call_ = nullptr;  // the present run; published by generation_
  const void* self_ = nullptr;
  std::int64_t tasks_ = 0;
  int limit_ = 0;
  std::atomic<std::int64_t> next_{0};
  std::atomic<int> busy_{0};  // workers that have not yet left the present run
};

}  // namespace headlight
