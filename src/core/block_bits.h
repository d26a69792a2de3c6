// Bit access for the functions of block_formats.h.
// Legend.  d: a block's scale, m: its minimum   q: a stored whole number   l: an element's index in its group
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "headlight/tensor.h"

namespace headlight::blocks {

inline constexpr int kSmall = 32, kLarge = 256;  // elements of a block

template <class T>
T fetch(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
inline float half(const std::byte* from) { return to_float(fetch<F16>(from)); }
inline int u8(const std::byte* from, int i) { return std::to_integer<int>(from[i]); }
inline int i8(const std::byte* from, int i) { return fetch<std::int8_t>(from + i); }
inline float real(int x) { return static_cast<float>(x); }

// Element l of 32 that are stored as 16 bytes: first all low halves of them, then all high ones.
inline int nibble(const std::byte* q, int l) { return l < 16 ? u8(q, l) & 15 : u8(q, l - 16) >> 4; }
inline int bit(std::uint32_t bits, int l) { return static_cast<int>(bits >> l & 1U); }

// 2^(e - 128), the scale of 32 numbers in units of a half. The two smallest are denormal.
inline float half_power_of_two(int e) {
  const auto bits = static_cast<std::uint32_t>(e);
  return std::bit_cast<float>(bits < 2 ? 0x00200000U << bits : (bits - 1) << 23);
}

}  // namespace headlight::blocks
