#include "core/thread_pool.h"

#include <pthread.h>

#include <algorithm>

#include "core/float_mode.h"

namespace headlight {
namespace {

// Set while this thread runs a task: a nested run must not wait for the workers it is one of.
thread_local bool inside_task = false;

// A worker spins this often before it sleeps. Back-to-back calls (a layer after a layer) then start
// within a microsecond; an idle process costs nothing.
constexpr int kSpins = 4000;

// Counts the fork() calls between the first process and this one.
std::atomic<unsigned> forks{0};

unsigned count_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });
  (void)registered;
  return forks.load();
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

std::shared_ptr<ThreadPool> ThreadPool::make(int threads) {
  return {new ThreadPool(threads), [](ThreadPool* pool) {
            if (!pool->forked()) delete pool;
          }};
}

bool ThreadPool::forked() const noexcept { return forks.load(std::memory_order_relaxed) != forks_; }

ThreadPool::ThreadPool(int threads) : forks_(count_forks()) {
  const int extra = std::max(0, threads - 1);
  workers_.reserve(static_cast<std::size_t>(extra));
  for (int i = 1; i <= extra; ++i) {
    try {
      workers_.emplace_back([this, i] { work(i); });
    } catch (const std::system_error&) {
      break;  // the system gives no more threads: fewer workers, same results
    }
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_.store(true);
    generation_.fetch_add(1);
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::take_tasks(int worker) {
  inside_task = true;
  for (std::int64_t n; (n = next_.fetch_add(1, std::memory_order_relaxed)) < tasks_;) {
    call_(self_, worker, n);
  }
  inside_task = false;
}

void ThreadPool::run_erased(std::int64_t tasks, int limit, Call call, const void* self) {
  std::unique_lock run(run_mutex_, std::defer_lock);
  if (tasks <= 1 || limit <= 1 || workers_.empty() || inside_task || forked() || !run.try_lock()) {
    for (std::int64_t n = 0; n < tasks; ++n) call(self, 0, n);
    return;
  }
  call_ = call;
  self_ = self;
  tasks_ = tasks;
  limit_ = limit;
  next_.store(0, std::memory_order_relaxed);
  busy_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1);  // publishes the run
  if (sleeping_.load() > 0) {
    { const std::lock_guard lock(mutex_); }  // a worker between its check and its sleep is past it now
    wake_.notify_all();
  }
  take_tasks(0);
  for (int spin = 0; busy_.load(std::memory_order_acquire) > 0; ++spin) {
    if (spin < kSpins) pause();
    else std::this_thread::yield();
  }
}

void ThreadPool::work(int worker) {
  const DefaultFloatMode float_mode;
  std::uint64_t seen = 0;
  while (true) {
    for (int spin = 0; generation_.load(std::memory_order_acquire) == seen && spin < kSpins; ++spin) pause();
    if (generation_.load(std::memory_order_acquire) == seen) {
      std::unique_lock lock(mutex_);
      sleeping_.fetch_add(1);
      wake_.wait(lock, [&] { return generation_.load() != seen; });
      sleeping_.fetch_sub(1);
    }
    if (stop_.load()) return;
    ++seen;
    if (worker < limit_) take_tasks(worker);
    busy_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace headlight
