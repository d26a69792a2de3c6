// No multiplication is fused with an addition (cmake/flags.cmake), so the bits are those of the format.
#include "core/block_formats.h"

#include "core/block_bits.h"

namespace headlight::blocks {
namespace {

// Q2_K and Q3_K: a block of 256 elements has two halves of 128; a half has four parts of 32, which share 32 bytes, two
// bits each; every 16 elements share a scale.
struct TwoBits {
  int place, scale, q;  // in the block; which scale; the stored number
};
template <class Use>
void each_two_bits(const std::byte* q, const Use& use) {
  for (int h = 0; h < 2; ++h)
    for (int part = 0; part < 4; ++part)
      for (int l = 0; l < 32; ++l)
        use(TwoBits{h * 128 + part * 32 + l, h * 8 + part * 2 + l / 16, u8(q, h * 32 + l) >> 2 * part & 3});
}

// Q4_K and Q5_K: eight scales and minima of six bits each in twelve bytes.
struct ScaleAndMinimum {
  int scale, minimum;
};
ScaleAndMinimum six_bits(const std::byte* s, int part) {
  if (part < 4) return {u8(s, part) & 63, u8(s, part + 4) & 63};
  return {(u8(s, part + 4) & 15) | u8(s, part - 4) >> 6 << 4, u8(s, part + 4) >> 4 | u8(s, part) >> 6 << 4};
}

// 256 elements in eight parts of 32; two parts share 32 bytes of q. `fifth` is null or points to 32 bytes of fifth bits.
void four_bits(const std::byte* b, const std::byte* fifth, const std::byte* q, float* y) {
  const float d = half(b), m = half(b + 2);
  for (int part = 0; part < 8; ++part) {
    const auto [scale, minimum] = six_bits(b + 4, part);
    const float ds = d * real(scale), ms = m * real(minimum);
    for (int l = 0; l < 32; ++l) {
      const int low = u8(q, part / 2 * 32 + l) >> 4 * (part % 2) & 15;
      const int high = fifth == nullptr ? 0 : u8(fifth, l) >> part & 1;
      y[part * 32 + l] = ds * real(low | high << 4) - ms;
    }
  }
}
// The values of the sixteen codes of the IQ4 types.
constexpr int kIq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// Four-bit numbers (a sign, two bits of exponent, one of fraction), in units of a half.
constexpr int kFp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace

void q4_0(const std::byte* b, float* y) {  // d, nibbles
  const float d = half(b);
  for (int l = 0; l < kSmall; ++l) y[l] = real(nibble(b + 2, l) - 8) * d;
}

void q4_1(const std::byte* b, float* y) {  // d, m, nibbles
  const float d = half(b), m = half(b + 2);
  for (int l = 0; l < kSmall; ++l) y[l] = real(nibble(b + 4, l)) * d + m;
}

void q5_0(const std::byte* b, float* y) {  // d, fifth bits, nibbles
  const float d = half(b);
  const auto high = fetch<std::uint32_t>(b + 2);
  for (int l = 0; l < kSmall; ++l) y[l] = real((nibble(b + 6, l) | bit(high, l) << 4) - 16) * d;
}

void q5_1(const std::byte* b, float* y) {  // d, m, fifth bits, nibbles
  const float d = half(b), m = half(b + 2);
  const auto high = fetch<std::uint32_t>(b + 4);
  for (int l = 0; l < kSmall; ++l) y[l] = real(nibble(b + 8, l) | bit(high, l) << 4) * d + m;
}

void q8_0(const std::byte* b, float* y) {  // d, bytes
  const float d = half(b);
  for (int l = 0; l < kSmall; ++l) y[l] = real(i8(b + 2, l)) * d;
}

void q2_k(const std::byte* b, float* y) {  // 16 scales and minima, 64 bytes of q, d, m
  const float d = half(b + 80), m = half(b + 82);
  each_two_bits(b + 16, [&](const TwoBits& e) {
    const int both = u8(b, e.scale);
    y[e.place] = d * real(both & 15) * real(e.q) - m * real(both >> 4);
  });
}

void q3_k(const std::byte* b, float* y) {  // 32 bytes of third bits, 64 of q, 12 of scales, d
  const float d = half(b + 108);
  const std::byte* scales = b + 96;
  each_two_bits(b + 32, [&](const TwoBits& e) {
    // Six bits: four in the first eight bytes, two in the last four.
    const int low = e.scale < 8 ? u8(scales, e.scale) & 15 : u8(scales, e.scale - 8) >> 4;
    const int high = u8(scales, 8 + e.scale % 4) >> 2 * (e.scale / 4) & 3;
    const int third = u8(b, e.place % 32) >> e.place / 32 & 1;
    y[e.place] = d * real((low | high << 4) - 32) * real(e.q - (third != 0 ? 0 : 4));
  });
}

void q4_k(const std::byte* b, float* y) { four_bits(b, nullptr, b + 16, y); }  // d, m, scales, q
void q5_k(const std::byte* b, float* y) { four_bits(b, b + 16, b + 48, y); }   // d, m, scales, fifth bits, q

void q6_k(const std::byte* b, float* y) {  // 128 bytes of low halves, 64 of high bits, 16 scales, d
  const float d = half(b + 208);
  for (int h = 0; h < 2; ++h)
    for (int part = 0; part < 4; ++part)
      for (int l = 0; l < 32; ++l) {
        const int low = u8(b, h * 64 + part % 2 * 32 + l) >> 4 * (part / 2) & 15;
        const int high = u8(b + 128, h * 32 + l) >> 2 * part & 3;
        y[h * 128 + part * 32 + l] =
            d * real(i8(b + 192, h * 8 + part * 2 + l / 16)) * real((low | high << 4) - 32);
      }
}

void q8_k(const std::byte* b, float* y) {  // d as f32, bytes, sums that are not used here
  const auto d = fetch<float>(b);
  for (int l = 0; l < kLarge; ++l) y[l] = d * real(i8(b + 4, l));
}

void iq4_nl(const std::byte* b, float* y) {  // d, nibbles
  const float d = half(b);
  for (int l = 0; l < kSmall; ++l) y[l] = d * real(kIq4[nibble(b + 2, l)]);
}

void iq4_xs(const std::byte* b, float* y) {  // d, high bits of scales, low halves of scales, nibbles
  const float d = half(b);
  const auto high = fetch<std::uint16_t>(b + 2);
  for (int part = 0; part < 8; ++part) {
    const int scale = (u8(b + 4, part / 2) >> 4 * (part % 2) & 15) | (high >> 2 * part & 3) << 4;
    const float ds = d * real(scale - 32);
    for (int l = 0; l < 32; ++l) y[part * 32 + l] = ds * real(kIq4[nibble(b + 8 + part * 16, l)]);
  }
}

void mxfp4(const std::byte* b, float* y) {  // an exponent, nibbles
  const float d = half_power_of_two(u8(b, 0));
  for (int l = 0; l < kSmall; ++l) y[l] = d * real(kFp4[nibble(b + 1, l)]);
}

}  // namespace headlight::blocks
