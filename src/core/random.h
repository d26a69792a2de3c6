// A counter-based generator: the random word of a place is a pure function of key and place, so any
// thread can ask for any word in any order. Philox with four 32-bit words and ten rounds (Salmon et
// al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace headlight {

using PhiloxCounter = std::array<std::uint32_t, 4>;

inline constexpr std::uint32_t kPhiloxMultiplier0 = 0xD2511F53U, kPhiloxMultiplier1 = 0xCD9E8D57U;
inline constexpr std::uint32_t kPhiloxWeyl0 = 0x9E3779B9U, kPhiloxWeyl1 = 0xBB67AE85U;
inline constexpr int kPhiloxRounds = 10;

[[nodiscard]] constexpr PhiloxCounter philox(PhiloxCounter c, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t a = std::uint64_t{kPhiloxMultiplier0} * c[0],
                        b = std::uint64_t{kPhiloxMultiplier1} * c[2];
    c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ key0, static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ key1, static_cast<std::uint32_t>(a)};
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
  return c;
}

// Where a part of a call begins in the whole of it: dropout counts from there.
struct DropoutOrigin {
  std::int64_t item = 0, head = 0, query = 0, key = 0;
};

// The random word of each weight, for dropout. The word of key j is word j%4 of the counter
// (j/4, query, head, item); a weight is kept when its word is at least `threshold`.
struct DropoutKey {
  std::uint32_t key0 = 0, key1 = 0;
  std::uint32_t threshold = 0;  // rate · 2^32
  DropoutOrigin from = {};

  [[nodiscard]] static constexpr DropoutKey of(double rate, std::uint64_t seed, std::uint64_t layer) {
    // The layer is hashed by the generator itself, so that layers 0 and 1 of one seed are unrelated.
    const PhiloxCounter mixed =
        philox({static_cast<std::uint32_t>(layer), static_cast<std::uint32_t>(layer >> 32), 0, 0},
               static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
    return {mixed[0], mixed[1], static_cast<std::uint32_t>(rate * 4294967296.0)};
  }
  [[nodiscard]] constexpr bool keeps(std::int64_t item, std::int64_t head, std::int64_t query,
                                     std::int64_t key) const {
    const PhiloxCounter words =
        philox({static_cast<std::uint32_t>(key / 4), static_cast<std::uint32_t>(query),
                static_cast<std::uint32_t>(head), static_cast<std::uint32_t>(item)},
               key0, key1);
    return words[static_cast<std::size_t>(key % 4)] >= threshold;
  }
};

}  // namespace headlight
