// Sets the default floating-point mode (round to nearest, denormals kept, exceptions masked) and restores
// the caller's mode at the end: a caller that flushes denormals gets the same bits as the workers compute.
// The caller's sticky flags are never cleared.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace headlight {

class DefaultFloatMode {
 public:
  DefaultFloatMode() noexcept : saved_(read()) {
    if ((saved_ & kControl) != kDefault) write(kDefault);
  }
  ~DefaultFloatMode() {
    if ((saved_ & kControl) != kDefault) write(saved_);
  }
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;

 private:
#if defined(__x86_64__)  // MXCSR
  using Word = unsigned;
  static constexpr Word kDefault = 0x1F80;  // all exceptions masked, nearest, no flush
  static constexpr Word kControl = 0xFFC0;  // all but the sticky flags
  static Word read() noexcept { return _mm_getcsr(); }
  static void write(Word word) noexcept { _mm_setcsr(word); }
#elif defined(__aarch64__)  // FPCR; the sticky flags are in another register, FPSR
  using Word = std::uint64_t;
  static constexpr Word kDefault = 0;
  // AHP, DN, FZ, RMode, FZ16, the enabled traps, NEP, AH, FIZ: everything that changes a result.
  static constexpr Word kControl = 0x07C89F07;
  static Word read() noexcept {
    Word word;
    asm volatile("mrs %0, fpcr" : "=r"(word));
    return word;
  }
  static void write(Word word) noexcept { asm volatile("msr fpcr, %0" : : "r"(word)); }
#else
  using Word = unsigned;
  static constexpr Word kDefault = 0, kControl = 0;
  static Word read() noexcept { return 0; }
  static void write(Word) noexcept {}
#endif
  Word saved_;
};

}  // namespace headlight
