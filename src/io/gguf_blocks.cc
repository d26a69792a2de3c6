// Legend.  d: a block's scale, m: its minimum   q: a stored whole number   l: an element's place in its group
// No multiplication is fused with an addition (cmake/flags.cmake), so the bits are those of the format.
#include "io/gguf_blocks.h"

#include <cstring>

#include "headlight/tensor.h"

namespace headlight::io {
namespace {

constexpr int kSmall = 32, kLarge = 256;  // elements of a block

template <class T>
T fetch(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
float half(const std::byte* from) { return to_float(fetch<F16>(from)); }
int u8(const std::byte* from, int i) { return std::to_integer<int>(from[i]); }
int i8(const std::byte* from, int i) { return fetch<std::int8_t>(from + i); }
float real(int x) { return static_cast<float>(x); }

// Element l of 32 that are stored as 16 bytes: first all low halves of them, then all high ones.
int nibble(const std::byte* q, int l) { return l < 16 ? u8(q, l) & 15 : u8(q, l - 16) >> 4; }
int bit(std::uint32_t bits, int l) { return static_cast<int>(bits >> l & 1U); }

void f32(const std::byte* b, float* y) { *y = fetch<float>(b); }
void f16(const std::byte* b, float* y) { *y = half(b); }
void bf16(const std::byte* b, float* y) { *y = to_float(fetch<BF16>(b)); }
void f64(const std::byte* b, float* y) { *y = static_cast<float>(fetch<double>(b)); }

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

// Q2_K and Q3_K: 256 elements are two halves of 128; a half is four parts of 32, which share 32 bytes, two
// bits each; 16 elements have a scale.
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

// Q4_K and Q5_K: eight scales and minima of six bits each in twelve bytes.
struct ScaleAndMinimum {
  int scale, minimum;
};
ScaleAndMinimum six_bits(const std::byte* s, int part) {
  if (part < 4) return {u8(s, part) & 63, u8(s, part + 4) & 63};
  return {(u8(s, part + 4) & 15) | u8(s, part - 4) >> 6 << 4, u8(s, part + 4) >> 4 | u8(s, part) >> 6 << 4};
}

// 256 elements are eight parts of 32; two parts share 32 bytes of q. `fifth` is null or 32 bytes of bits.
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

void q8_k(const std::byte* b, float* y) {  // d as f32, bytes, sums that nobody needs here
  const auto d = fetch<float>(b);
  for (int l = 0; l < kLarge; ++l) y[l] = d * real(i8(b + 4, l));
}

// What the sixteen numbers of the IQ4 types stand for.
constexpr int kIq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

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

// The missing numbers (4, 5, 31 to 33, 36 to 38) belonged to types that were taken back.
constexpr BlockType kTypes[] = {{"F32", 0, 1, 4, f32},
                                {"F16", 1, 1, 2, f16},
                                {"Q4_0", 2, 32, 18, q4_0},
                                {"Q4_1", 3, 32, 20, q4_1},
                                {"Q5_0", 6, 32, 22, q5_0},
                                {"Q5_1", 7, 32, 24, q5_1},
                                {"Q8_0", 8, 32, 34, q8_0},
                                {"Q8_1", 9, 32, 36},
                                {"Q2_K", 10, 256, 84, q2_k},
                                {"Q3_K", 11, 256, 110, q3_k},
                                {"Q4_K", 12, 256, 144, q4_k},
                                {"Q5_K", 13, 256, 176, q5_k},
                                {"Q6_K", 14, 256, 210, q6_k},
                                {"Q8_K", 15, 256, 292, q8_k},
                                {"IQ2_XXS", 16, 256, 66},
                                {"IQ2_XS", 17, 256, 74},
                                {"IQ3_XXS", 18, 256, 98},
                                {"IQ1_S", 19, 256, 50},
                                {"IQ4_NL", 20, 32, 18, iq4_nl},
                                {"IQ3_S", 21, 256, 110},
                                {"IQ2_S", 22, 256, 82},
                                {"IQ4_XS", 23, 256, 136, iq4_xs},
                                {"I8", 24, 1, 1},
                                {"I16", 25, 1, 2},
                                {"I32", 26, 1, 4},
                                {"I64", 27, 1, 8},
                                {"F64", 28, 1, 8, f64},
                                {"IQ1_M", 29, 256, 56},
                                {"BF16", 30, 1, 2, bf16},
                                {"TQ1_0", 34, 256, 54},
                                {"TQ2_0", 35, 256, 66},
                                {"MXFP4", 39, 32, 17}};

}  // namespace

const BlockType* find_block_type(std::uint32_t id) noexcept {
  for (const BlockType& type : kTypes)
    if (type.id == id) return &type;
  return nullptr;
}

const BlockType* find_block_type(std::string_view name) noexcept {
  for (const BlockType& type : kTypes)
    if (type.name == name) return &type;
  return nullptr;
}

void dequantize(const BlockType& type, std::span<const std::byte> bytes, float* to) {
  for (std::size_t at = 0; at + type.bytes <= bytes.size(); at += type.bytes, to += type.elements)
    type.floats(bytes.data() + at, to);
}

}  // namespace headlight::io
