#include "serve/desk.h"

#include <chrono>

#include "serve/answer.h"

namespace headlight::serve {
namespace {

constexpr int kMostWaiting = 32;
constexpr std::chrono::seconds kPatience{20};
constexpr std::chrono::milliseconds kLook{50};  // how often to see whether the client is still there

}  // namespace

Desk::Turn::Turn(Desk& desk, const std::function<bool()>& left) : desk_(desk) {
  std::unique_lock lock(desk.mutex_);
  if (desk.taken_ && desk.waiting_ >= kMostWaiting) throw Busy{};
  const auto end = std::chrono::steady_clock::now() + kPatience;
  ++desk.waiting_;
  while (desk.taken_) {
    desk.freed_.wait_for(lock, kLook);
    if (!desk.taken_) break;
    const bool gone = left(), late = std::chrono::steady_clock::now() > end;
    if (!gone && !late) continue;
    --desk.waiting_;
    if (gone) throw ClientLeft{};
    throw Busy{};
  }
  --desk.waiting_;
  desk.taken_ = true;
}

Desk::Turn::~Turn() {
  {
    const std::lock_guard lock(desk_.mutex_);
    desk_.taken_ = false;
  }
  desk_.freed_.notify_one();
}

}  // namespace headlight::serve
