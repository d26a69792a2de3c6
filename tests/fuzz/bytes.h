// A fuzzer's input as a row of choices, and how a target says what it found.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "headlight/tensor.h"

namespace headlight::testing {

// A byte for small choices, eight for large ones; zeros when the input is used up.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : next_(data), left_(size) {}

  Index below(Index n) {
    std::uint64_t x = 0;
    const std::size_t take = std::min<std::size_t>(left_, n <= 256 ? 1 : 8);
    if (take > 0) std::memcpy(&x, next_, take);
    next_ += take;
    left_ -= take;
    return static_cast<Index>(x % static_cast<std::uint64_t>(n));
  }
  // Mostly small, sometimes anything.
  Index any() {
    return below(4) != 0 ? below(20) - 2
                         : static_cast<Index>((static_cast<std::uint64_t>(below(kHuge)) << 1) - kHuge);
  }
  [[nodiscard]] bool empty() const { return left_ == 0; }

 private:
  static constexpr Index kHuge = std::numeric_limits<Index>::max();
  const std::uint8_t* next_;
  std::size_t left_;
};

[[noreturn]] inline void fail(const std::string& why) {
  std::fprintf(stderr, "finding: %s\n", why.c_str());
  std::abort();
}

// Every message: a first line of at most 300 bytes, and nothing that steers a terminal.
inline void check_message(const std::string& text) {
  if (text.substr(0, text.find('\n')).size() > 300) fail("a first line of more than 300 bytes: " + text);
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7F)
      fail("a raw control byte in: " + text);
  }
}

}  // namespace headlight::testing
