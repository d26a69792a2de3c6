// The block types of GGUF files in the form that the kernels use: a row consists of parts of 32 elements, each element a
// small whole number (its code), each part with one scale and possibly one minimum, or with two of each for 16 elements:
//
//   element = scale · (code - kOffset) - minimum
//
// One specialisation of Blocks per type gives the positions of codes and scales. Everything else is shared.

#if defined(HEADLIGHT_KERNELS_BLOCK_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_BLOCK_CODES_INL_H_
#undef HEADLIGHT_KERNELS_BLOCK_CODES_INL_H_
#else
#define HEADLIGHT_KERNELS_BLOCK_CODES_INL_H_
#endif

#include <bit>
#include <cstdint>
#include <cstring>

#include "headlight/stored_matrix.h"
#include "hwy/highway.h"
#include "kernels/pack-inl.h"

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int kPartColumns = 32;  // elements of a part
inline constexpr int kMostParts = 8;     // processed together: a block of 256, or eight of 32

// 32 bytes at a time, or 16. Wider vectors would straddle parts.
using Codes = hn::CappedTag<std::uint8_t, kPartColumns>;
using CodesVec = hn::Vec<Codes>;
inline constexpr int kCodes = static_cast<int>(hn::MaxLanes(Codes()));  // elements of a vector

HWY_INLINE CodesVec load_codes(const std::byte* from) {
  return hn::LoadU(Codes(), reinterpret_cast<const std::uint8_t*>(from));
}
template <int kShift, int kMask>
HWY_INLINE CodesVec bits_of(CodesVec v) {
  const Codes d;
  const hn::Repartition<std::uint16_t, Codes> d16;
  if constexpr (kShift > 0) v = hn::BitCast(d, hn::ShiftRight<kShift>(hn::BitCast(d16, v)));
  return hn::And(v, hn::Set(d, kMask));
}
// Bits that stay within their byte.
template <int kShift>
HWY_INLINE CodesVec shifted_up(CodesVec v) {
  return hn::BitCast(Codes(), hn::ShiftLeft<kShift>(hn::BitCast(hn::Repartition<std::uint16_t, Codes>(), v)));
}
// `value` where the bit is set.
template <int kBit>
HWY_INLINE CodesVec where_bit(CodesVec v, int value) {
  const Codes d;
  return hn::IfThenElseZero(hn::TestBit(v, hn::Set(d, 1U << kBit)),
                            hn::Set(d, static_cast<std::uint8_t>(value)));
}

// 32 elements in 16 bytes: all low halves of them, then all high ones.
HWY_INLINE CodesVec halves(const std::byte* from, int first) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  (void)first;
  const hn::Half<Codes> half;
  const auto low = hn::LoadU(half, reinterpret_cast<const std::uint8_t*>(from));
  const hn::Repartition<std::uint16_t, hn::Half<Codes>> d16;
  const auto high = hn::BitCast(half, hn::ShiftRight<4>(hn::BitCast(d16, low)));
  return hn::And(hn::Combine(Codes(), high, low), hn::Set(Codes(), 15));
#else
  return first == 0 ? bits_of<0, 15>(load_codes(from)) : bits_of<4, 15>(load_codes(from));
#endif
}
// 32 bits, one for each element: 16 where it is set.
HWY_INLINE CodesVec fifth_bits(const std::byte* from, int first) {
  alignas(32) static constexpr std::uint8_t kByte[32] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,
                                                         2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3};
  alignas(32) static constexpr std::uint8_t kBit[32] = {1,  2,   4,  8,  16,  32, 64, 128, 1,  2,  4,
                                                        8,  16,  32, 64, 128, 1,  2,  4,   8,  16, 32,
                                                        64, 128, 1,  2,  4,   8,  16, 32,  64, 128};
  const Codes d;
  const hn::Repartition<std::uint32_t, Codes> d32;
  std::uint32_t bits = 0;
  std::memcpy(&bits, from, sizeof bits);
  const auto spread = hn::TableLookupBytes(hn::BitCast(d, hn::Set(d32, bits)), hn::Load(d, kByte + first));
  return hn::IfThenElseZero(hn::TestBit(spread, hn::Load(d, kBit + first)), hn::Set(d, 16));
}
HWY_INLINE CodesVec looked_up(const std::int8_t* table, CodesVec codes) {
  const Codes d;
  return hn::TableLookupBytes(hn::LoadDup128(d, reinterpret_cast<const std::uint8_t*>(table)), codes);
}

// ---- Scales -------------------------------------------------------------------------------------------

HWY_INLINE std::uint32_t word_at(const std::byte* from) {
  std::uint32_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}
HWY_INLINE float half_at(const std::byte* from) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, sizeof bits);
#if HEADLIGHT_F16C
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
#else
  return widen_f16(bits);
#endif
}
// to[i] = factor · numbers[i] for kCount bytes, signed or not.
template <int kCount, class T>
HWY_INLINE void scale_bytes(const T* numbers, float factor, float* to) {
  const hn::CappedTag<float, 8> d;
  const hn::RebindToSigned<decltype(d)> d32;
  const hn::Rebind<T, decltype(d)> d8;
  const auto f = hn::Set(d, factor);
#pragma GCC unroll 8
  for (int i = 0; i < kCount; i += static_cast<int>(hn::Lanes(d)))
    hn::StoreU(hn::Mul(f, hn::ConvertTo(d, hn::PromoteTo(d32, hn::LoadU(d8, numbers + i)))), d, to + i);
}

// ---- Types --------------------------------------------------------------------------------------------

// Shared by types whose blocks have one part.
template <Index kBytesOfBlock, int kCodesAt, int kOffsetOfCodes, bool kWithMinima>
struct SmallBlocks {
  static constexpr Index kColumns = kPartColumns, kBytes = kBytesOfBlock;
  static constexpr int kScales = 1, kOffset = kOffsetOfCodes;  // scales of a part
  static constexpr bool kSigned = false, kMinima = kWithMinima;
  static HWY_INLINE void factors(const std::byte* blocks, int parts, float* scale, float* minimum) {
    for (int p = 0; p < parts; ++p) {
      scale[p] = half_at(blocks + p * kBytes);
      if constexpr (kMinima) minimum[p] = -half_at(blocks + p * kBytes + 2);
    }
  }
  template <int kPart>
  static HWY_INLINE CodesVec codes(const std::byte* blocks, int first) {
    return halves(blocks + kPart * kBytes + kCodesAt, first);
  }
};
// Shared by types whose blocks have eight parts.
template <Index kBytesOfBlock, int kScalesOfPart, int kOffsetOfCodes, bool kWithMinima>
struct LargeBlocks {
  static constexpr Index kColumns = 256, kBytes = kBytesOfBlock;
  static constexpr int kScales = kScalesOfPart, kOffset = kOffsetOfCodes;
  static constexpr bool kSigned = false, kMinima = kWithMinima;
};

template <StoredType kType>
struct Blocks;

template <>
struct Blocks<StoredType::q4_0> : SmallBlocks<18, 2, 8, false> {};
template <>
struct Blocks<StoredType::q4_1> : SmallBlocks<20, 4, 0, true> {};
template <>
struct Blocks<StoredType::q5_0> : SmallBlocks<22, 6, 16, false> {
  template <int kPart>
  static HWY_INLINE CodesVec codes(const std::byte* blocks, int first) {
    const std::byte* b = blocks + kPart * kBytes;
    return hn::Or(halves(b + 6, first), fifth_bits(b + 2, first));
  }
};
template <>
struct Blocks<StoredType::q5_1> : SmallBlocks<24, 8, 0, true> {
  template <int kPart>
  static HWY_INLINE CodesVec codes(const std::byte* blocks, int first) {
    const std::byte* b = blocks + kPart * kBytes;
    return hn::Or(halves(b + 8, first), fifth_bits(b + 4, first));
  }
};

alignas(16) inline constexpr std::int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                           1,    13,   25,  38,  53,  69,  89,  113};
alignas(16) inline constexpr std::int8_t kFp4Values[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                                           0, -1, -2, -3, -4, -6, -8, -12};

template <>
struct Blocks<StoredType::iq4_nl> : SmallBlocks<18, 2, 0, false> {
  static constexpr bool kSigned = true;
  template <int kPart>
  static HWY_INLINE CodesVec codes(const std::byte* blocks, int first) {
    return looked_up(kIq4Values, halves(blocks + kPart * kBytes + 2, first));
  }
};
template <>
struct Blocks<StoredType::mxfp4> : SmallBlocks<17, 1, 0, false> {
  static constexpr bool kSigned = true;
  static HWY_INLINE void factors(const std::byte* blocks, int parts, float* scale, float*) {
    for (int p = 0; p < parts; ++p) {
      const auto e = std::to_integer<std::uint32_t>(blocks[p * kBytes]);
      scale[p] = std::bit_cast<float>(e < 2 ? 0x00200000U << e : (e - 1) << 23);
    }
  }
  template <int kPart>
  static HWY_INLINE CodesVec codes(const std::byte* blocks, int first) {
    return looked_up(kFp4Values, halves(blocks + kPart * kBytes + 1, first));
  }
};
template <>
struct Blocks<StoredType::iq4_xs> : LargeBlocks<136, 1, 0, false> {
  static constexpr bool kSigned = true;
  static HWY_INLINE void factors(const std::byte* b, int, float* scale, float*) {
    const float d = half_at(b);
    const std::uint32_t high = word_at(b) >> 16, low = word_at(b + 4);
    for (int p = 0; p < 8; ++p)
      scale[p] =
          d * static_cast<float>(static_cast<int>((low >> 4 * p & 15U) | (high >> 2 * p & 3U) << 4) - 32);
  }
  template <int kPart>
  static HWY_INLINE CodesVec codes(const std::byte* b, int first) {
    return looked_up(kIq4Values, halves(b + 8 + 16 * kPart, first));
  }
};

template <>
struct Blocks<StoredType::q4_k> : LargeBlocks<144, 1, 0, true> {
  // Eight scales and eight minima of six bits in twelve bytes, four at a time.
  static HWY_INLINE void factors(const std::byte* b, int, float* scale, float* minimum) {
    const std::uint32_t s = word_at(b + 4), m = word_at(b + 8), both = word_at(b + 12);
    const std::uint32_t scales[2] = {s & 0x3F3F3F3FU, (both & 0x0F0F0F0FU) | (s >> 6 & 0x03030303U) << 4};
    const std::uint32_t minima[2] = {m & 0x3F3F3F3FU, (both >> 4 & 0x0F0F0F0FU) | (m >> 6 & 0x03030303U)
                                                                                      << 4};
    scale_bytes<8>(reinterpret_cast<const std::uint8_t*>(scales), half_at(b), scale);
    scale_bytes<8>(reinterpret_cast<const std::uint8_t*>(minima), half_at(b + 2), minimum);
  }
  template <int kPart>
  static HWY_INLINE CodesVec codes(const std::byte* b, int first) {
    return bits_of<4 * (kPart % 2), 15>(load_codes(b + 16 + kPart / 2 * 32 + first));
  }
};
template <>
struct Blocks<StoredType::q5_k> : LargeBlocks<176, 1, 0, true> {
  static HWY_INLINE void factors(const std::byte* b, int parts, float* scale, float* minimum) {
    Blocks<StoredType::q4_k>::factors(b, parts, scale, minimum);
  }
  template <int kPart>
  static HWY_INLINE CodesVec codes(const std::byte* b, int first) {
    return hn::Or(bits_of<4 * (kPart % 2), 15>(load_codes(b + 48 + kPart / 2 * 32 + first)),
                  where_bit<kPart>(load_codes(b + 16 + first), 16));
  }
};
template <>
struct Blocks<StoredType::q6_k> : LargeBlocks<210, 2, 32, false> {
  static HWY_INLINE void factors(const std::byte* b, int, float* scale, float*) {
    scale_bytes<16>(reinterpret_cast<const std::int8_t*>(b + 192), half_at(b + 208), scale);
  }
  template <int kPart>
  static HWY_INLINE CodesVec codes(const std::byte* b, int first) {
    constexpr int kHalf = kPart / 4, kQuarter = kPart % 4;
    const auto low = bits_of<4 * (kQuarter / 2), 15>(load_codes(b + kHalf * 64 + kQuarter % 2 * 32 + first));
    const auto high = bits_of<2 * kQuarter, 3>(load_codes(b + 128 + kHalf * 32 + first));
    return hn::Or(low, shifted_up<4>(high));
  }
};
template <>
struct Blocks<StoredType::q3_k> : LargeBlocks<110, 2, 4, false> {
  static HWY_INLINE void factors(const std::byte* b, int, float* scale, float*) {
    const std::uint32_t s0 = word_at(b + 96), s1 = word_at(b + 100), high = word_at(b + 104);
    constexpr std::uint32_t kLow = 0x0F0F0F0FU, kHigh = 0x03030303U;
    const std::uint32_t scales[4] = {
        (s0 & kLow) | (high & kHigh) << 4, (s1 & kLow) | (high >> 2 & kHigh) << 4,
        (s0 >> 4 & kLow) | (high >> 4 & kHigh) << 4, (s1 >> 4 & kLow) | (high >> 6 & kHigh) << 4};
    std::int8_t centred[16];
    std::memcpy(centred, scales, sizeof centred);
    for (std::int8_t& x : centred) x = static_cast<std::int8_t>(x - 32);
    scale_bytes<16>(centred, half_at(b + 108), scale);
  }
  template <int kPart>
  static HWY_INLINE CodesVec codes(const std::byte* b, int first) {
    return hn::Or(bits_of<2 * (kPart % 4), 3>(load_codes(b + 32 + kPart / 4 * 32 + first)),
                  where_bit<kPart>(load_codes(b + first), 4));
  }
};
template <>
struct Blocks<StoredType::q2_k> : LargeBlocks<84, 2, 0, true> {
  static HWY_INLINE void factors(const std::byte* b, int, float* scale, float* minimum) {
    std::uint32_t both[4], scales[4], minima[4];
    std::memcpy(both, b, sizeof both);
    for (int i = 0; i < 4; ++i) scales[i] = both[i] & 0x0F0F0F0FU, minima[i] = both[i] >> 4 & 0x0F0F0F0FU;
    scale_bytes<16>(reinterpret_cast<const std::uint8_t*>(scales), half_at(b + 80), scale);
    scale_bytes<16>(reinterpret_cast<const std::uint8_t*>(minima), half_at(b + 82), minimum);
  }
  template <int kPart>
  static HWY_INLINE CodesVec codes(const std::byte* b, int first) {
    return bits_of<2 * (kPart % 4), 3>(load_codes(b + 16 + kPart / 4 * 32 + first));
  }
};

// f.operator()<type>() for a block type.
template <class F>
HWY_INLINE void with_block_type(StoredType type, const F& f) {
  switch (type) {
    case StoredType::q4_0: return f.template operator()<StoredType::q4_0>();
    case StoredType::q4_1: return f.template operator()<StoredType::q4_1>();
    case StoredType::q5_0: return f.template operator()<StoredType::q5_0>();
    case StoredType::q5_1: return f.template operator()<StoredType::q5_1>();
    case StoredType::q2_k: return f.template operator()<StoredType::q2_k>();
    case StoredType::q3_k: return f.template operator()<StoredType::q3_k>();
    case StoredType::q4_k: return f.template operator()<StoredType::q4_k>();
    case StoredType::q5_k: return f.template operator()<StoredType::q5_k>();
    case StoredType::q6_k: return f.template operator()<StoredType::q6_k>();
    case StoredType::iq4_nl: return f.template operator()<StoredType::iq4_nl>();
    case StoredType::iq4_xs: return f.template operator()<StoredType::iq4_xs>();
    case StoredType::mxfp4: return f.template operator()<StoredType::mxfp4>();
    default: return;
  }
}

// f.operator()<part>() for each of the first `parts` parts.
template <int kPart = 0, class F>
HWY_INLINE void each_part(int parts, const F& f) {
  if constexpr (kPart < kMostParts) {
    if (kPart >= parts) return;
    f.template operator()<kPart>();
    each_part<kPart + 1>(parts, f);
  }
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET != HWY_SCALAR
#endif
