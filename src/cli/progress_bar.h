// A progress line on a terminal: activity, fraction done, remaining time.
// Prints nothing if standard error is not a terminal.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "headlight/progress.h"

namespace headlight::cli {

class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `done` from 0 to 1, below 0 if unknown. A new `doing` starts a new estimate. Drawn at most
  // ten times a second, so that it can be called as often as one likes.
  void show(std::string_view doing, double done);
  void clear() noexcept;
  // For calls that report their progress; valid as long as the bar.
  [[nodiscard]] std::function<void(const ProgressStep&)> reporter() {
    return
        [this](const ProgressStep& step) { show(step.what, step.total > 0 ? step.done / step.total : -1); };
  }

 private:
  using Clock = std::chrono::steady_clock;
  bool visible_, shown_ = false;
  std::string doing_;
  Clock::time_point started_, drawn_;
};

// "8 s", "2:05", "1:02:05", "2 d 3 h".
[[nodiscard]] std::string duration_text(double seconds);

}  // namespace headlight::cli
