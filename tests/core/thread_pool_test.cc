#include "core/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <ctime>
#include <filesystem>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>

#include "core/cpu.h"
#include "core/run_tasks.h"
#include "support/errors.h"
#include "support/random.h"

namespace headlight::testing {
namespace {

// Runs `tasks` tasks and expects each exactly once, by workers that the limit allows, none of them in
// two tasks at a time. What tasks write without any lock must be there when run() returns.
void expect_all_once(Executor& pool, std::int64_t tasks, int limit) {
  std::vector<int> done(static_cast<std::size_t>(tasks), 0);
  std::array<std::atomic<int>, 64> inside{};
  std::atomic<int> wrong{0};
  run_tasks(pool, tasks, limit, [&](int worker, std::int64_t n) {
    if (worker < 0 || worker >= std::min(std::max(limit, 1), pool.threads())) ++wrong;
    if (inside[static_cast<std::size_t>(worker)]++ != 0) ++wrong;
    ++done[static_cast<std::size_t>(n)];
    --inside[static_cast<std::size_t>(worker)];
  });
  EXPECT_EQ(wrong.load(), 0) << tasks << " tasks, limit " << limit << ", " << pool.threads() << " threads";
  EXPECT_EQ(done, std::vector<int>(static_cast<std::size_t>(tasks), 1)) << "limit " << limit;
}

TEST(ThreadPools, EveryTaskExactlyOnce) {
  for (const int threads : {0, 1, 2, 3, 8, 33}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), std::max(threads, 1));
    for (const std::int64_t tasks : {0, 1, 2, 3, 7, 100, 5000}) {
      for (const int limit : {0, 1, 2, 5, 64}) expect_all_once(pool, tasks, limit);
    }
  }
}

TEST(ThreadPools, ManyShortRuns) {
  ThreadPool pool(4);
  std::atomic<std::int64_t> sum{0};
  for (int n = 0; n < 3000; ++n) run_tasks(pool, 3, 4, [&](int, std::int64_t number) { sum += number; });
  EXPECT_EQ(sum.load(), 3000 * 3);
}

// Long enough apart that the workers fall asleep.
TEST(ThreadPools, WakeUpAgain) {
  ThreadPool pool(3);
  for (int n = 0; n < 20; ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    expect_all_once(pool, 20, 3);
  }
}

// All threads of this process on one core, until it goes.
class OneCore {
 public:
  OneCore() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    set_all(one);
  }
  ~OneCore() { set_all(before_); }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  static void set_all(const cpu_set_t& cores) {
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
      sched_setaffinity(std::stoi(thread.path().filename()), sizeof cores, &cores);
  }
  cpu_set_t before_;
};

double cpu_microseconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return 1e6 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_nsec);
}

// A busy system may let a worker and its caller share a core. One of them waits by giving the core to the other, not by
// spinning for a tenth of a millisecond on it.
TEST(ThreadPools, NobodySpinsOnTheCoreOfTheOther) {
  if (usable_cores() < 2) GTEST_SKIP() << "on one core nobody spins";
  ThreadPool pool(2);
  const OneCore shared;
  constexpr int kRuns = 200;
  const double all = cpu_microseconds(CLOCK_PROCESS_CPUTIME_ID),
               mine = cpu_microseconds(CLOCK_THREAD_CPUTIME_ID);
  for (int n = 0; n < kRuns; ++n) {
    std::atomic<int> arrived{0};
    run_tasks(pool, 2, 2, [&](int, std::int64_t) {
      for (++arrived; arrived < 2;) std::this_thread::yield();
    });
    const double begin = cpu_microseconds(CLOCK_THREAD_CPUTIME_ID);
    while (cpu_microseconds(CLOCK_THREAD_CPUTIME_ID) < begin + 300) {}
  }
  const double workers =
      cpu_microseconds(CLOCK_PROCESS_CPUTIME_ID) - all - (cpu_microseconds(CLOCK_THREAD_CPUTIME_ID) - mine);
  EXPECT_LT(workers / kRuns, 40) << "microseconds of a worker in each run";
}

TEST(ThreadPools, ARunInsideATask) {
  ThreadPool pool(4), other(3);
  std::vector<std::atomic<int>> done(20);
  std::atomic<int> strangers{0};
  run_tasks(pool, 20, 4, [&](int, std::int64_t n) {
    const std::thread::id me = std::this_thread::get_id();
    for (ThreadPool* inner : {&pool, &other}) {
      run_tasks(*inner, 5, 4, [&](int worker, std::int64_t) {
        if (worker != 0 || std::this_thread::get_id() != me) ++strangers;
        std::this_thread::sleep_for(std::chrono::microseconds(200));  // time for strangers to come
        run_tasks(*inner, 2, 4, [&](int, std::int64_t) { ++done[static_cast<std::size_t>(n)]; });
      });
    }
  });
  for (const auto& n : done) EXPECT_EQ(n.load(), 20);
  EXPECT_EQ(strangers.load(), 0) << "a nested run stays on its thread";
  expect_all_once(pool, 100, 4);
}

TEST(ThreadPools, SeveralCallersAtOnce) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> good{0};
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int n = 0; n < 300; ++n) {
        std::vector<std::int64_t> got(17, -1);
        run_tasks(pool, 17, 3,
                  [&](int, std::int64_t number) { got[static_cast<std::size_t>(number)] = number; });
        if (std::accumulate(got.begin(), got.end(), std::int64_t{0}) == 136) ++good;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(good.load(), 4 * 300);
}

// A pool of many threads starts only those that a run may use, on however many cores.
TEST(ThreadPools, AreTouchedOnlyAsFarAsNeeded) {
  ThreadPool pool(16);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  for (int n = 0; n < 200; ++n) {
    run_tasks(pool, 64, 3, [&](int, std::int64_t) {
      if (n < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // time for others to come
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
  }
  EXPECT_LE(seen.size(), 3U);
  // Which of the three works is up to the system; one alone is the caller.
  seen.clear();
  run_tasks(pool, 64, 1, [&](int, std::int64_t) { seen.insert(std::this_thread::get_id()); });
  EXPECT_EQ(seen, std::set<std::thread::id>{std::this_thread::get_id()});
}

TEST(ThreadPools, ThrowToTheCallerAndGoOn) {
  for (const int threads : {1, 2, 4, 9}) {
    ThreadPool pool(threads);
    for (const std::int64_t bad : {0, 1, 17, 99}) {
      std::atomic<int> done{0};
      try {
        run_tasks(pool, 100, threads, [&](int, std::int64_t n) {
          if (n == bad) throw std::runtime_error("task " + std::to_string(n));
          ++done;
        });
        ADD_FAILURE() << "no exception";
      } catch (const std::runtime_error& error) { EXPECT_EQ(error.what(), "task " + std::to_string(bad)); }
      EXPECT_LT(done.load(), 100);
      expect_all_once(pool, 50, threads);
    }
    // All at once: one of them arrives.
    EXPECT_THROW(run_tasks(pool, 100, threads, [](int, std::int64_t n) { throw n; }), std::int64_t);
    expect_all_once(pool, 50, threads);
  }
}

// An executor that does less than it could, or calls workers in turn and on its own threads.
class OddExecutor : public Executor {
 public:
  enum class Kind { nothing, last_only, in_turn, own_threads, out_of_range };
  explicit OddExecutor(Kind kind) : kind_(kind) {}
  [[nodiscard]] int threads() const noexcept override { return 4; }
  void run(int workers, Work work) override {
    switch (kind_) {
      case Kind::nothing: return;
      case Kind::last_only: return work(workers - 1);
      case Kind::in_turn:
        for (int w = workers; w-- > 0;) work(w);
        return;
      case Kind::own_threads: {
        std::vector<std::thread> threads;
        for (int w = 0; w < workers; ++w) threads.emplace_back([=] { work(w); });
        for (std::thread& thread : threads) thread.join();
        return;
      }
      case Kind::out_of_range: return work(workers);
    }
  }

 private:
  Kind kind_;
};

TEST(Executors, OfAnyKindRunEveryTask) {
  using Kind = OddExecutor::Kind;
  for (const Kind kind : {Kind::nothing, Kind::last_only, Kind::in_turn, Kind::own_threads}) {
    OddExecutor executor(kind);
    for (const std::int64_t tasks : {0, 1, 2, 100})
      for (const int limit : {1, 2, 64}) expect_all_once(executor, tasks, limit);
  }
  OddExecutor wrong(Kind::out_of_range);
  expect_error([&] { run_tasks(wrong, 10, 4, [](int, std::int64_t) {}); }, ErrorKind::usage,
               "context.executor", "Executor::run was asked for workers 0 to 3 and called work(4)");
}

TEST(ThreadPools, StartAndStop) {
  for (int n = 0; n < 1000; ++n) {
    ThreadPool pool(1 + n % 5);
    if (n % 3 == 0) continue;
    std::atomic<int> done{0};
    run_tasks(pool, n % 7, 8, [&](int, std::int64_t) { ++done; });
    ASSERT_EQ(done.load(), n % 7);
  }
}

// Starts, stops, runs, nested runs and a second caller in random order.
TEST(ThreadPools, RandomSequences) {
  Random random(1);
  std::unique_ptr<ThreadPool> pool;
  for (int n = 0; n < 2000; ++n) {
    if (pool == nullptr || random.below(20) == 0)
      pool = std::make_unique<ThreadPool>(static_cast<int>(random.below(6)));
    const std::int64_t tasks = random.below(30);
    const int limit = static_cast<int>(random.below(7));
    const bool nested = random.below(4) == 0, second = random.below(8) == 0;
    std::atomic<std::int64_t> done{0};
    const auto work = [&] {
      run_tasks(*pool, tasks, limit, [&](int, std::int64_t) {
        if (nested) run_tasks(*pool, 3, limit, [&](int, std::int64_t) { ++done; });
        else done += 3;
      });
    };
    std::thread caller;
    if (second) caller = std::thread(work);
    work();
    if (second) caller.join();
    ASSERT_EQ(done.load(), tasks * 3 * (second ? 2 : 1)) << "step " << n;
  }
}

}  // namespace
}  // namespace headlight::testing
