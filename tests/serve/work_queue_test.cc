// One computation at a time, a short queue, and nobody waits for those who have gone.
#include "serve/work_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "serve/answer.h"
#include "serve/run_cache.h"

namespace headlight::serve {
namespace {

using namespace std::chrono_literals;
const std::function<bool()> kStays = [] { return false; };

TEST(WorkQueue, OneAtATimeAndAShortQueue) {
  WorkQueue queue(1);
  std::atomic<int> inside = 0, most = 0, served = 0, busy = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 100; ++i) {
    threads.emplace_back([&] {
      try {
        queue.run_in_turn(kStays, [&](Context&) {
          most = std::max(most.load(), ++inside);
          std::this_thread::sleep_for(5ms);
          --inside;
          return 0;
        });
        ++served;
      } catch (const Busy&) { ++busy; }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(served + busy, 100);
  EXPECT_GE(served, 65);
}

TEST(WorkQueue, ThoseWhoLeaveLeaveTheQueue) {
  WorkQueue queue(1);
  std::atomic<bool> release = false, begun = false;
  std::thread worker([&] {
    queue.run_in_turn(kStays, [&](Context&) {
      begun = true;
      while (!release) std::this_thread::sleep_for(1ms);
      return 0;
    });
  });
  while (!begun) std::this_thread::sleep_for(1ms);
  EXPECT_THROW(queue.run_in_turn([] { return true; }, [](Context&) { return 0; }), ClientLeft);
  release = true;
  worker.join();
  EXPECT_EQ(queue.run_in_turn(kStays, [](Context&) { return 7; }), 7);
}

TEST(RunCache, ForgetsTheLeastRecentlyUsed) {
  const auto run = [](const std::string& id) {
    const Model none(std::make_shared<const ModelState>());
    return std::make_shared<const KeptRun>(
        KeptRun{id, {}, headlight::Run(std::make_shared<const RunState>(none))});
  };
  RunCache cache(2 * run("x")->bytes());
  cache.keep(run("a"));
  cache.keep(run("b"));
  EXPECT_NE(cache.find("a"), nullptr);
  cache.keep(run("c"));
  EXPECT_EQ(cache.find("b"), nullptr);
  EXPECT_NE(cache.find("a"), nullptr);
  EXPECT_NE(cache.find("c"), nullptr);
}

}  // namespace
}  // namespace headlight::serve
