// Random numbers as a pure function of seed, purpose and position: they do not depend on earlier draws.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/random.h"
#include "headlight/tensor.h"

namespace headlight {

class Dice {
 public:
  Dice(std::uint64_t seed, std::uint32_t purpose, std::uint64_t place, std::uint32_t item = 0) {
    // The purpose is hashed by the generator itself, so that streams of one seed are independent.
    const PhiloxCounter mixed =
        philox({purpose, 0, 0, 0}, static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
    key0_ = mixed[0];
    key1_ = mixed[1];
    counter_ = {0, item, static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(place >> 32)};
  }

  std::uint32_t next() {
    if (used_ == 4) {
      words_ = philox(counter_, key0_, key1_);
      ++counter_[0];
      used_ = 0;
    }
    return words_[used_++];
  }
  std::uint64_t next64() {
    const std::uint64_t high = next();
    return (high << 32) | next();
  }
  // 0 … n-1, uniform to within n / 2^64.
  Index below(Index n) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<Index>((Wide{next64()} * static_cast<std::uint64_t>(n)) >> 64);
  }
  // [0, 1)
  double uniform() { return static_cast<double>(next64() >> 11) * 0x1p-53; }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[static_cast<std::size_t>(below(static_cast<Index>(i)))]);
  }

 private:
  std::uint32_t key0_ = 0, key1_ = 0;
  PhiloxCounter counter_{}, words_{};
  std::size_t used_ = 4;
};

}  // namespace headlight
