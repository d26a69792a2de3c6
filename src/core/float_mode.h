// Sets the default floating-point mode (round to nearest, denormals kept, exceptions quiet) and puts
// the caller's back: a caller that flushes denormals must get the same bits as our workers compute.
// Sticky flags are the caller's: none is ever cleared.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace headlight {

class DefaultFloatMode {
 public:
#if defined(__x86_64__)
  DefaultFloatMode() : saved_(_mm_getcsr()) {
    if ((saved_ & kControl) != kDefault) _mm_setcsr(kDefault);
  }
  ~DefaultFloatMode() {
    if ((saved_ & kControl) != kDefault) _mm_setcsr(saved_);
  }
#else
  DefaultFloatMode() = default;
  ~DefaultFloatMode() = default;
#endif
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr unsigned kDefault = 0x1F80;  // all exceptions masked, nearest, no flush
  static constexpr unsigned kControl = 0xFFC0;  // all but the sticky flags
  unsigned saved_;
#endif
};

}  // namespace headlight
