#include "serve/desk.h"

#include <chrono>

#include "serve/answer.h"

namespace headlight::serve {
namespace {

constexpr int kMostWaiting = 64;
constexpr std::chrono::seconds kPatience{20};
constexpr std::chrono::milliseconds kLong{200};
constexpr std::chrono::milliseconds kLook{50};  // how often to see whether the client is still there

}  // namespace

Desk::Turn::Turn(Desk& desk, const std::function<bool()>& left) : desk_(desk) {
  using Clock = std::chrono::steady_clock;
  std::unique_lock lock(desk.mutex_);
  if (desk.waiting_ >= kMostWaiting) throw Busy{};
  const auto begin = Clock::now();
  bool impatient = false;
  const auto leave = [&] {
    --desk.waiting_;
    if (impatient) --desk.impatient_;
  };
  ++desk.waiting_;
  const auto may_go = [&] { return !desk.taken_ && (impatient || desk.impatient_ == 0); };
  while (!desk.freed_.wait_for(lock, kLook, may_go)) {
    const bool gone = left(), late = Clock::now() - begin > kPatience;
    if (gone || late) {
      leave();
      desk.freed_.notify_all();  // somebody may have waited for this one
      if (gone) throw ClientLeft{};
      throw Busy{};
    }
    if (!impatient && Clock::now() - begin > kLong) {
      impatient = true;
      ++desk.impatient_;
    }
  }
  leave();
  desk.taken_ = true;
}

Desk::Turn::~Turn() {
  bool all = false;
  {
    const std::lock_guard lock(desk_.mutex_);
    desk_.taken_ = false;
    all = desk_.impatient_ > 0;  // one alone might wake somebody who may not go yet
  }
  if (all) desk_.freed_.notify_all();
  else desk_.freed_.notify_one();
}

}  // namespace headlight::serve
