#include "serve/work_queue.h"

#include <chrono>

#include "serve/answer.h"

namespace headlight::serve {
namespace {

constexpr int kMostWaiting = 64;
constexpr std::chrono::seconds kPatience{20};
constexpr std::chrono::milliseconds kLong{200};
constexpr std::chrono::milliseconds kLook{50};  // interval of checks whether the client is still connected

}  // namespace

WorkQueue::Turn::Turn(WorkQueue& queue, const std::function<bool()>& left) : queue_(queue) {
  using Steady = std::chrono::steady_clock;
  std::unique_lock lock(queue.mutex_);
  if (queue.waiting_ >= kMostWaiting) throw Busy{};
  const auto begin = Steady::now();
  bool impatient = false;
  const auto leave = [&] {
    --queue.waiting_;
    if (impatient) --queue.impatient_;
  };
  ++queue.waiting_;
  const auto may_go = [&] { return !queue.taken_ && (impatient || queue.impatient_ == 0); };
  while (!queue.freed_.wait_for(lock, kLook, may_go)) {
    const bool gone = left(), late = Steady::now() - begin > kPatience;
    if (gone || late) {
      leave();
      queue.freed_.notify_all();  // another caller may have waited for this one
      if (gone) throw ClientLeft{};
      throw Busy{};
    }
    if (!impatient && Steady::now() - begin > kLong) {
      impatient = true;
      ++queue.impatient_;
    }
  }
  leave();
  queue.taken_ = true;
}

WorkQueue::Turn::~Turn() {
  bool all = false;
  {
    const std::lock_guard lock(queue_.mutex_);
    queue_.taken_ = false;
    all = queue_.impatient_ > 0;  // notify_one() might wake a caller that is not yet allowed a turn
  }
  if (all) queue_.freed_.notify_all();
  else queue_.freed_.notify_one();
}

}  // namespace headlight::serve
