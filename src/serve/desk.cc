#include "serve/desk.h"

#include <chrono>

#include "serve/answer.h"

namespace headlight::serve {
namespace {

constexpr std::size_t kMostWaiting = 32;
constexpr std::chrono::seconds kPatience{20};
constexpr std::chrono::milliseconds kLook{50};  // how often to see whether the client is still there

}  // namespace

Desk::Turn::Turn(Desk& desk, const std::function<bool()>& left) : desk_(desk) {
  std::unique_lock lock(desk.mutex_);
  if (desk.waiting_.size() >= kMostWaiting) throw Busy{};
  const auto end = std::chrono::steady_clock::now() + kPatience;
  const std::uint64_t mine = desk.next_number_++;
  desk.waiting_.push_back(mine);
  const auto is_next = [&] { return !desk.taken_ && desk.waiting_.front() == mine; };
  while (!desk.freed_.wait_for(lock, kLook, is_next)) {
    const bool gone = left(), late = std::chrono::steady_clock::now() > end;
    if (!gone && !late) continue;
    std::erase(desk.waiting_, mine);
    desk.freed_.notify_all();  // whoever stood behind may be the next now
    if (gone) throw ClientLeft{};
    throw Busy{};
  }
  desk.waiting_.pop_front();
  desk.taken_ = true;
}

Desk::Turn::~Turn() {
  {
    const std::lock_guard lock(desk_.mutex_);
    desk_.taken_ = false;
  }
  desk_.freed_.notify_all();
}

}  // namespace headlight::serve
