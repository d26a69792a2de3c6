#include "core/block_store.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/block_bits.h"
#include "headlight/stored_matrix.h"

namespace headlight::blocks {
namespace {

constexpr int kParts = 8, kPart = 32;     // of a block of q4_k, each with a scale and a minimum
constexpr int kGroups = 16, kGroup = 16;  // of a block of q6_k, each with a scale
constexpr float kTiny = 1e-30F;           // the inverse of smaller numbers overflows

std::byte byte_of(int x) { return static_cast<std::byte>(x & 0xFF); }
int nearest(float x, int least, int most) {
  return static_cast<int>(std::clamp(std::nearbyint(x), static_cast<float>(least), static_cast<float>(most)));
}
// x rounded to f16, and the rounded value as a float.
float put_half(float x, std::byte* to) {
  const F16 half_x = to_f16(static_cast<double>(x));
  std::memcpy(to, &half_x, sizeof half_x);
  return to_float(half_x);
}

// x ≈ scale·q with q in [-32, 31].
struct Symmetric {
  float scale = 0;
  double error = 0;
};
Symmetric fit(std::span<const float> x) {
  float largest = 0;
  for (const float v : x)
    if (std::abs(v) > std::abs(largest)) largest = v;
  Symmetric best;
  for (const float v : x) best.error += static_cast<double>(v) * static_cast<double>(v);
  if (std::abs(largest) < kTiny) return best;
  // The largest becomes -32, or a number near it; the best scale for the resulting whole numbers is computed from them.
  for (int step = -9; step <= 9; ++step) {
    const float inverse = (-32 + 0.1F * static_cast<float>(step)) / largest;
    double xq = 0, qq = 0;
    for (const float v : x) {
      const int q = nearest(v * inverse, -32, 31);
      xq += static_cast<double>(v) * q;
      qq += static_cast<double>(q) * q;
    }
    if (qq == 0) continue;
    const double scale = xq / qq;
    double error = 0;
    for (const float v : x) {
      const double d = static_cast<double>(v) - scale * nearest(v * inverse, -32, 31);
      error += d * d;
    }
    if (error < best.error) best = {static_cast<float>(scale), error};
  }
  return best;
}

// x ≈ scale·q - minimum with q in [0, 15]; neither is negative.
struct Affine {
  float scale = 0, minimum = 0;
};
Affine fit_above(std::span<const float> x) {
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  const float least = std::min(*low, 0.0F), range = *high - least;
  if (range < kTiny) return {0, -least};
  const auto error_of = [&](const Affine& a) {
    double error = 0;
    for (const float v : x) {
      const int q = nearest((v + a.minimum) / a.scale, 0, 15);
      const double d =
          static_cast<double>(v) + static_cast<double>(a.minimum) - static_cast<double>(a.scale) * q;
      error += d * d;
    }
    return error;
  };
  Affine best{range / 15, -least};
  double smallest = error_of(best);
  for (int step = -10; step <= 20; ++step) {
    // Whole numbers for a slightly other range, then the line through them of least squares.
    const float inverse = (15 + 0.1F * static_cast<float>(step)) / range;
    double n = 0, sq = 0, sqq = 0, sx = 0, sxq = 0;
    for (const float v : x) {
      const int q = nearest((v - least) * inverse, 0, 15);
      n += 1, sq += q, sqq += static_cast<double>(q) * q;
      sx += static_cast<double>(v), sxq += static_cast<double>(v) * q;
    }
    const double det = n * sqq - sq * sq;
    if (det <= 0) continue;
    double scale = (n * sxq - sx * sq) / det, minimum = (scale * sq - sx) / n;
    if (minimum < 0) scale = sxq / sqq, minimum = 0;
    if (!(scale > static_cast<double>(kTiny))) continue;
    const Affine one{static_cast<float>(scale), static_cast<float>(minimum)};
    if (const double error = error_of(one); error < smallest) best = one, smallest = error;
  }
  return best;
}

}  // namespace

void to_q8_0(std::span<const float> x, std::byte* to) {
  std::int8_t numbers[kSmall];
  put_half(to_int8(x, numbers), to);
  std::memcpy(to + 2, numbers, sizeof numbers);
}

void to_q6_k(std::span<const float> x, std::byte* to) {
  std::array<float, kGroups> scales{};
  float largest = 0;
  for (int g = 0; g < kGroups; ++g) {
    scales[static_cast<std::size_t>(g)] = fit(x.subspan(static_cast<std::size_t>(g * kGroup), kGroup)).scale;
    if (std::abs(scales[static_cast<std::size_t>(g)]) > std::abs(largest))
      largest = scales[static_cast<std::size_t>(g)];
  }
  std::memset(to, 0, 210);
  const float d = put_half(largest / -128, to + 208);
  if (std::abs(d) < kTiny) return;
  for (int g = 0; g < kGroups; ++g) {
    const int scale = nearest(scales[static_cast<std::size_t>(g)] / d, -128, 127);
    to[192 + g] = byte_of(scale);
    const float unit = d * real(scale);
    for (int i = 0; i < kGroup; ++i) {
      const int place = g * kGroup + i, h = place / 128, part = place % 128 / 32, l = place % 32;
      const int q = scale == 0 ? 32 : nearest(x[static_cast<std::size_t>(place)] / unit, -32, 31) + 32;
      to[h * 64 + part % 2 * 32 + l] |= byte_of((q & 15) << 4 * (part / 2));
      to[128 + h * 32 + l] |= byte_of((q >> 4) << 2 * part);
    }
  }
}

void to_q4_k(std::span<const float> x, std::byte* to) {
  std::array<Affine, kParts> fits;
  float scale = 0, minimum = 0;
  for (int p = 0; p < kParts; ++p) {
    const Affine one = fits[static_cast<std::size_t>(p)] =
        fit_above(x.subspan(static_cast<std::size_t>(p * kPart), kPart));
    scale = std::max(scale, one.scale), minimum = std::max(minimum, one.minimum);
  }
  std::memset(to, 0, 144);
  const float d = put_half(scale / 63, to), m = put_half(minimum / 63, to + 2);
  std::byte* six = to + 4;
  for (int p = 0; p < kParts; ++p) {
    const Affine& one = fits[static_cast<std::size_t>(p)];
    const int s = d > 0 ? nearest(one.scale / d, 0, 63) : 0, n = m > 0 ? nearest(one.minimum / m, 0, 63) : 0;
    if (p < 4) {
      six[p] |= byte_of(s), six[p + 4] |= byte_of(n);
    } else {
      six[p + 4] = byte_of((s & 15) | (n & 15) << 4);
      six[p - 4] |= byte_of(s >> 4 << 6), six[p] |= byte_of(n >> 4 << 6);
    }
    const float unit = d * real(s), below = m * real(n);
    for (int l = 0; l < kPart; ++l) {
      const int q =
          unit > 0 ? nearest((x[static_cast<std::size_t>(p * kPart + l)] + below) / unit, 0, 15) : 0;
      to[16 + p / 2 * 32 + l] |= byte_of(q << 4 * (p % 2));
    }
  }
}

}  // namespace headlight::blocks
