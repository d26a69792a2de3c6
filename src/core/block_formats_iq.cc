// The types below three bits: codebooks (IQ), ternary numbers (TQ), and the small ones of one and two bits. No multiplication
// is fused with an addition (cmake/flags.cmake), so the bits are those of the format.
#include <algorithm>
#include <bit>
#include <cmath>

#include "core/block_bits.h"
#include "core/block_codebooks.h"
#include "core/block_formats.h"

namespace headlight::blocks {
namespace {

int u16(const std::byte* from, int i) { return fetch<std::uint16_t>(from + 2 * i); }

// Seven signs are stored; the eighth makes the number of minus signs even.
int eight_signs(std::uint32_t seven) {
  return static_cast<int>(seven | static_cast<std::uint32_t>(std::popcount(seven) & 1) << 7);
}
float signed_by(float x, int signs, int j) { return x * ((signs >> j & 1) != 0 ? -1.0F : 1.0F); }

// Eight numbers of an IQ2 entry.
void eight_of_two(int entry, int signs, float d, float* y) {
  constexpr int kValues[] = {8, 25, 43, 0};
  for (int j = 0; j < 8; ++j) y[j] = signed_by(d * real(kValues[entry >> 2 * j & 3]), signs, j);
}
// Eight numbers of two IQ3 entries.
template <class Value>
void eight_of_three(int first, int second, int signs, float d, const Value& value, float* y) {
  for (int j = 0; j < 8; ++j)
    y[j] = signed_by(d * real(value((j < 4 ? first : second) >> 3 * (j % 4) & 7)), signs, j);
}
void eight_of_one(int entry, float d, float delta, float* y) {
  for (int j = 0; j < 8; ++j) y[j] = d * (real((entry >> 2 * j & 3) - 1) + delta);
}

}  // namespace

void iq2_xxs(const std::byte* b, float* y) {  // d; for each 32: four indices, then 4 × 7 signs and a scale
  const float d = half(b);
  for (int part = 0; part < 8; ++part) {
    const std::byte* q = b + 2 + 8 * part;
    const auto rest = fetch<std::uint32_t>(q + 4);
    const float db = d * (0.5F + real(static_cast<int>(rest >> 28))) * 0.25F;
    for (int l = 0; l < 4; ++l)
      eight_of_two(kIq2Xxs[u8(q, l)], eight_signs(rest >> 7 * l & 127), db, y + 32 * part + 8 * l);
  }
}

void iq2_xs(const std::byte* b,
            float* y) {  // d, 32 × (index of nine bits, seven signs), 16 scales of four bits
  const float d = half(b);
  for (int l = 0; l < 32; ++l) {
    const int q = u16(b + 2, l), scale = u8(b + 66, l / 4) >> 4 * (l % 4 / 2) & 15;
    const float db = d * (0.5F + real(scale)) * 0.25F;
    eight_of_two(kIq2Xs[q & 511], eight_signs(static_cast<std::uint32_t>(q) >> 9), db, y + 8 * l);
  }
}

void iq2_s(const std::byte* b,
           float* y) {  // d, 32 low bytes of indices, 32 of signs, 8 of high bits, 8 of scales
  const float d = half(b);
  for (int l = 0; l < 32; ++l) {
    const int index = u8(b + 2, l) | (u8(b + 66, l / 4) >> 2 * (l % 4) & 3) << 8;
    const int scale = u8(b + 74, l / 4) >> 4 * (l % 4 / 2) & 15;
    eight_of_two(kIq2S[index], u8(b + 34, l), d * (0.5F + real(scale)) * 0.25F, y + 8 * l);
  }
}

void iq3_xxs(const std::byte* b, float* y) {  // d, 64 indices, for each 32 4 × 7 signs and a scale
  constexpr int kValues[] = {4, 12, 20, 28, 36, 44, 52, 62};
  const float d = half(b);
  for (int part = 0; part < 8; ++part) {
    const auto rest = fetch<std::uint32_t>(b + 66 + 4 * part);
    const float db = d * (0.5F + real(static_cast<int>(rest >> 28))) * 0.5F;
    const std::byte* q = b + 2 + 8 * part;
    for (int l = 0; l < 4; ++l)
      eight_of_three(
          kIq3Xxs[u8(q, 2 * l)], kIq3Xxs[u8(q, 2 * l + 1)], eight_signs(rest >> 7 * l & 127), db,
          [&](int i) { return kValues[i]; }, y + 32 * part + 8 * l);
  }
}

void iq3_s(const std::byte* b,
           float* y) {  // d, 64 low bytes of indices, 8 of ninth bits, 32 of signs, 8 scales
  const float d = half(b);
  for (int part = 0; part < 8; ++part) {
    const int scale = u8(b + 106, part / 2) >> 4 * (part % 2) & 15, ninth = u8(b + 66, part);
    const float db = d * real(1 + 2 * scale);
    const auto entry = [&](int i) { return int{kIq3S[u8(b + 2, 8 * part + i) | (ninth >> i & 1) << 8]}; };
    for (int l = 0; l < 4; ++l)
      eight_of_three(
          entry(2 * l), entry(2 * l + 1), u8(b + 74, 4 * part + l), db, [](int i) { return 2 * i + 1; },
          y + 32 * part + 8 * l);
  }
}

void iq1_s(const std::byte* b,
           float* y) {  // d, 32 low bytes of indices; for each 32 their high bits, scale, sign of delta
  const float d = half(b);
  for (int part = 0; part < 8; ++part) {
    const int rest = u16(b + 34, part);
    const float dl = d * real(2 * (rest >> 12 & 7) + 1), delta = (rest & 0x8000) != 0 ? -0.125F : 0.125F;
    for (int l = 0; l < 4; ++l)
      eight_of_one(kIq1[u8(b + 2, 4 * part + l) | (rest >> 3 * l & 7) << 8], dl, delta,
                   y + 32 * part + 8 * l);
  }
}

void iq1_m(const std::byte* b,
           float* y) {  // 32 low bytes of indices, 16 of high bits and signs of delta, 8 of scales
  const std::byte* scales = b + 48;
  // The four highest bits of each 16 are a quarter of d.
  int bits = 0;
  for (int i = 0; i < 4; ++i) bits |= (u16(scales, i) >> 12) << 4 * i;
  const float d = to_float(F16{static_cast<std::uint16_t>(bits)});
  for (int l = 0; l < 32; ++l) {
    const int part = l / 4, high = u8(b + 32, l / 2) >> 4 * (l % 2);
    const int scale = u16(scales, part / 2) >> (6 * (part % 2) + 3 * (l % 4 / 2)) & 7;
    eight_of_one(kIq1[u8(b, l) | (high & 7) << 8], d * real(2 * scale + 1),
                 (high & 8) != 0 ? -0.125F : 0.125F, y + 8 * l);
  }
}

// Five ternary digits in a byte, the most significant first, as a fraction of 256: multiplying by three shifts the next one up.
void tq1_0(const std::byte* b, float* y) {  // 48 bytes of five digits, 4 of four, d
  const float d = half(b + 52);
  const auto digits = [&](int first, int bytes, int count) {
    for (int n = 0, power = 1; n < count; ++n, power *= 3)
      for (int m = 0; m < bytes; ++m) {
        const int q = u8(b, first + m) * power & 0xFF;
        *y++ = real((q * 3 >> 8) - 1) * d;
      }
  };
  digits(0, 32, 5);
  digits(32, 16, 5);
  digits(48, 4, 4);
}

void tq2_0(const std::byte* b, float* y) {  // 64 bytes of two bits, d
  const float d = half(b + 64);
  for (int i = 0; i < kLarge; ++i)
    y[i] = real((u8(b, i / 128 * 32 + i % 32) >> 2 * (i % 128 / 32) & 3) - 1) * d;
}

void q1_0(const std::byte* b, float* y) {  // d, 128 bits
  const float d = half(b);
  for (int i = 0; i < 128; ++i) y[i] = (u8(b + 2, i / 8) >> i % 8 & 1) != 0 ? d : -d;
}

void q2_0(const std::byte* b, float* y) {  // d, 64 times two bits
  const float d = half(b);
  for (int i = 0; i < 64; ++i) y[i] = real((u8(b + 2, i / 4) >> 2 * (i % 4) & 3) - 1) * d;
}

void nvfp4(const std::byte* b,
           float* y) {  // four scales of eight bits, nibbles: of each 16 all low ones, then all high ones
  constexpr int kValues[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  for (int group = 0; group < 4; ++group) {
    const int scale = u8(b, group), exponent = scale >> 3 & 15, fraction = scale & 7;
    // In units of a half, as the numbers are. 0x7F is not a number and counts as zero.
    float d = std::ldexp(real(exponent == 0 ? fraction : fraction + 8), std::max(exponent, 1) - 11);
    if (scale == 0x7F) d = 0;
    for (int j = 0; j < 16; ++j)
      y[16 * group + j] = real(kValues[u8(b + 4, 8 * group + j % 8) >> 4 * (j / 8) & 15]) * d;
  }
}

}  // namespace headlight::blocks
