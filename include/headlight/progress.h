// Progress and cancellation of long calls.
#pragma once

#include <exception>
#include <functional>
#include <string_view>

#pragma GCC visibility push(default)

namespace headlight {

struct ProgressStep {
  std::string_view what;  // "every head in turn"; valid during the call
  double done = 0, total = 1;
};

// Both functions are called by the calling thread and are optional.
struct Progress {
  std::function<void(const ProgressStep& step)> report = nullptr;
  // Called between layers, texts and heads, also when nothing is reported. True: the call throws Cancelled.
  std::function<bool()> cancelled = nullptr;

  void tell(std::string_view what, double done, double total) const {
    if (report) report({what, done, total});
  }
  void check() const;  // throws Cancelled on request
};

class Cancelled : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "cancelled"; }
};

inline void Progress::check() const {
  if (cancelled && cancelled()) throw Cancelled();
}

}  // namespace headlight

#pragma GCC visibility pop
