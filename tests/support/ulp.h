// How far a computed number is from the truth, in units in the last place of its type.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace headlight::testing {

// The distance between neighbours of type T around `truth`, denormals included.
template <class T>
[[nodiscard]] long double ulp_at(long double truth) {
  constexpr int kLowest = std::numeric_limits<T>::min_exponent - 1;
  const int exponent = truth == 0 ? kLowest : std::max(std::ilogb(truth), kLowest);
  return std::ldexp(1.0L, exponent - (std::numeric_limits<T>::digits - 1));
}

template <class T>
[[nodiscard]] double ulp_error(T found, long double truth) {
  return static_cast<double>(std::abs(static_cast<long double>(found) - truth) / ulp_at<T>(truth));
}

// The same for floats whose truth is a normal double, cheap enough for all 2^32 of them.
[[nodiscard]] inline double float_ulp_error(float found, double truth) {
  constexpr std::uint64_t kLowest = 1023 - 126;
  const std::uint64_t exponent = (std::bit_cast<std::uint64_t>(truth) >> 52) & 0x7FFU;
  const double inverse = std::bit_cast<double>((2046 + 23 - std::max(exponent, kLowest)) << 52);
  return std::abs(static_cast<double>(found) - truth) * inverse;
}

}  // namespace headlight::testing
