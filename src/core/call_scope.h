// The first statement of every public function that computes on a Context: sets the default floating-point mode and
// locks the Context to this thread. Nested calls cost one comparison.
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
  // False: a nested call.
  [[nodiscard]] static bool enter(Context& ctx);

  DefaultFloatMode float_mode_;
  Context* entered_;
};

}  // namespace headlight
