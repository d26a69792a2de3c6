#include "core/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include "core/cpu.h"

namespace headlight {
namespace {

// A waiting thread spins this many times before it sleeps. Back-to-back calls (one layer after another) then start within
// a microsecond, and an idle process uses no CPU time. With more threads than cores, a spinning thread would only take a
// core from a working one; the same holds on the core of the thread that it waits for.
constexpr int kSpins = 4000;

// Counts the fork() calls between the first process and this one.
std::atomic<unsigned> forks{0};

unsigned count_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });
  (void)registered;
  return forks.load();
}

// No `pause` instruction: hypervisors mistake a loop of them for a wait on another virtual CPU and deschedule this one.
// Runs then began 200 µs late on a virtual machine, instead of 1.
void pause() {
  for (int i = 0; i < 64; ++i) asm volatile("");
}

}  // namespace

struct ThreadPool::Run {
  int workers;
  Work work;
};

// idle → offered (by its parent) → running (by itself) → idle; or back to idle when the parent withdraws the offer.
enum class WorkerState : int { idle, offered, running, stopped };

struct alignas(64) ThreadPool::Worker {
  std::atomic<WorkerState> state{WorkerState::idle};
  std::atomic<bool> sleeping{false};
  const Run* run = nullptr;   // published by `state`, as is the next
  int parent_core = -1;       // where the run was offered from
  std::atomic<int> core{-1};  // where it was taken up
  std::mutex mutex;           // of sleeping and waking
  std::condition_variable wake;
  std::thread thread;
};

std::shared_ptr<ThreadPool> ThreadPool::make(int threads) {
  return {new ThreadPool(threads), [](ThreadPool* pool) {
            if (!pool->forked()) delete pool;
          }};
}

bool ThreadPool::forked() const noexcept { return forks.load(std::memory_order_relaxed) != forks_; }

ThreadPool::ThreadPool(int threads) : forks_(count_forks()), spins_(threads <= usable_cores() ? kSpins : 0) {
  // All workers exist before the first thread starts, because threads read each other's.
  for (int i = 1; i < threads; ++i) workers_.push_back(std::make_unique<Worker>());
  for (int i = 1; i < threads; ++i) {
    try {
      worker(i).thread = std::thread([this, i] { serve(i); });
    } catch (const std::exception&) {
      workers_.resize(
          static_cast<std::size_t>(i - 1));  // no more threads available: fewer workers, same results
      break;
    }
  }
}

ThreadPool::~ThreadPool() {
  for (const std::unique_ptr<Worker>& worker : workers_) {
    {
      const std::lock_guard lock(worker->mutex);
      worker->state.store(WorkerState::stopped);
    }
    worker->wake.notify_one();
    worker->thread.join();
  }
}

void ThreadPool::run(int workers, Work work) {
  const std::unique_lock lock(run_mutex_, std::try_to_lock);
  if (!lock.owns_lock() || forked()) return work(0);
  take_part({std::min(workers, threads()), work}, 0);
}

void ThreadPool::take_part(const Run& run, int number) {
  for (const int child : {2 * number + 1, 2 * number + 2})
    if (child < run.workers) offer(run, child);
  run.work(number);
  for (const int child : {2 * number + 1, 2 * number + 2})
    if (child < run.workers) collect(child);
}

void ThreadPool::offer(const Run& run, int number) {
  Worker& to = worker(number);
  to.run = &run;
  to.parent_core = sched_getcpu();
  to.state.store(WorkerState::offered);
  if (!to.sleeping.load()) return;
  { const std::lock_guard lock(to.mutex); }  // a worker between its check and its sleep has passed it now
  to.wake.notify_one();
}

void ThreadPool::collect(int number) {
  Worker& from = worker(number);
  auto offered = WorkerState::offered;
  if (from.state.compare_exchange_strong(offered, WorkerState::idle)) return;  // it had not begun
  const int spins = from.core.load(std::memory_order_relaxed) == sched_getcpu() ? 0 : spins_;
  for (int spin = 0; from.state.load(std::memory_order_acquire) != WorkerState::idle; ++spin) {
    if (spin < spins) pause();
    else std::this_thread::yield();
  }
}

void ThreadPool::serve(int number) {
  Worker& self = worker(number);
  int parent_core = -1;  // of the last run
  while (true) {
    const int spins = sched_getcpu() == parent_core ? 0 : spins_;
    for (int spin = 0; spin < spins && self.state.load(std::memory_order_relaxed) == WorkerState::idle;
         ++spin)
      pause();
    if (self.state.load() == WorkerState::idle) {
      std::unique_lock lock(self.mutex);
      self.sleeping.store(true);
      self.wake.wait(lock, [&] { return self.state.load() != WorkerState::idle; });
      self.sleeping.store(false);
    }
    if (self.state.load() == WorkerState::stopped) return;
    auto offered = WorkerState::offered;
    if (!self.state.compare_exchange_strong(offered, WorkerState::running)) continue;
    self.core.store(sched_getcpu(), std::memory_order_relaxed);
    parent_core = self.parent_core;
    take_part(*self.run, number);
    self.state.store(WorkerState::idle, std::memory_order_release);
  }
}

}  // namespace headlight
