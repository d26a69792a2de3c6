// Stands first in every public function that computes on a Context: from here on the floating-point mode is the
// default one, and the Context belongs to this thread. Calls inside the call cost a comparison.
#pragma once

#include "core/float_mode.h"
#include "headlight/context.h"

namespace headlight {

class CallScope {
 public:
  // Throws Error{usage} when another thread is inside a call on `ctx`.
  explicit CallScope(Context& ctx) : entered_(enter(ctx) ? &ctx : nullptr) {}
  ~CallScope() {
    if (entered_ != nullptr) entered_->user_.store(nullptr, std::memory_order_release);
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  [[nodiscard]] bool outermost() const noexcept { return entered_ != nullptr; }

 private:
  // False: this thread is inside already.
  [[nodiscard]] static bool enter(Context& ctx);

  DefaultFloatMode float_mode_;
  Context* entered_;
};

}  // namespace headlight
