// Where work is done: one computation at a time, a short queue, and nobody waits for a client that has gone.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include "headlight/context.h"

namespace headlight::serve {

struct Busy {};  // thrown when the queue is full, or after waiting for too long

class Desk {
 public:
  explicit Desk(int threads) : ctx_({.threads = threads}) {}

  template <class Work>
  auto at_turn(const std::function<bool()>& left, const Work& work) {
    const Turn turn(*this, left);
    return work(ctx_);
  }

 private:
  class Turn {
   public:
    Turn(Desk& desk, const std::function<bool()>& left);  // throws Busy or ClientLeft
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Desk& desk_;
  };

  Context ctx_;
  std::mutex mutex_;
  std::condition_variable freed_;
  bool taken_ = false;
  int waiting_ = 0;
  int impatient_ = 0;  // those who have waited for long: while there are any, nobody else gets a turn
};

}  // namespace headlight::serve
