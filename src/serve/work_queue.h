// Runs one computation at a time, with a short queue. Clients that disconnect leave the queue.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "headlight/context.h"

namespace headlight::serve {

struct Busy {};  // thrown when the queue is full, or after waiting for too long

class WorkQueue {
 public:
  // With an executor: its threads.
  explicit WorkQueue(int threads, std::shared_ptr<Executor> executor = nullptr)
      : ctx_({.threads = executor == nullptr ? threads : 0, .executor = std::move(executor)}) {}

  template <class Work>
  auto run_in_turn(const std::function<bool()>& left, const Work& work) {
    const Turn turn(*this, left);
    return work(ctx_);
  }

 private:
  class Turn {
   public:
    Turn(WorkQueue& queue, const std::function<bool()>& left);  // throws Busy or ClientLeft
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    WorkQueue& queue_;
  };

  Context ctx_;
  std::mutex mutex_;
  std::condition_variable freed_;
  bool taken_ = false;
  int waiting_ = 0;
  int impatient_ = 0;  // callers that have waited long; as long as there are any, no other caller gets a turn
};

}  // namespace headlight::serve
