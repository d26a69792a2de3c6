// Packing for byte_gemm.h, and its table, compiled once per SIMD target.
#include "kernels/byte_gemm.h"

#include <algorithm>
#include <cstring>

#include "headlight/stored_matrix.h"
#include "kernels/target_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/byte_gemm.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/block_dots-inl.h"
#include "kernels/byte_gemm-inl.h"
#include "kernels/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
ByteKernels make_byte_table() { return {}; }
#else

// Sums are stored negated, because the product subtracts the offsets of codes.
HWY_ATTR void pack_byte_rows(const float* arranged, Index stride, int rows, Index depth, std::int32_t* left) {
  constexpr Index kWords = ByteKernels::kLeftWords;
  const Index parts = depth / kPartColumns;
  if (rows < kByteStrip) std::fill_n(left, parts * kWords * kByteStrip, 0);
  for (int r = 0; r < rows; ++r) {
    const ByteRow row(const_cast<float*>(arranged) + r * stride, depth);
    std::int32_t* to = left + r;
    for (Index part = 0; part < parts; ++part, to += kWords * kByteStrip) {
      const std::int8_t* numbers = row.numbers + part * kPartColumns;
      const auto put = [&](int word, const void* from) { std::memcpy(to + word * kByteStrip, from, 4); };
      for (int quad = 0; quad < ByteKernels::kQuads; ++quad) put(quad, numbers + 4 * quad);
      put(kFactorAt, row.factors[0] + part);
      put(kScaledSumAt, row.sums[0] + part);
      std::int32_t halves[2] = {};
      for (int i = 0; i < kPartColumns; ++i) halves[i / 16] -= numbers[i];
      const std::int32_t whole = halves[0] + halves[1];
      put(kSumAt, &whole);
      for (int half = 0; half < 2; ++half) {
        put(kScaledHalvesAt + half, row.sums[1] + 2 * part + half);
        put(kHalvesAt + half, halves + half);
      }
    }
  }
}

// Codes, scales and minima of up to eight parts of one row of w.
template <StoredType kType>
HWY_INLINE void read_parts(const std::byte* blocks, int parts, std::uint8_t* codes, float* scale,
                           float* minimum) {
  using B = Blocks<kType>;
  constexpr int kGroups = byte_codes(kType).groups_of_part, kShift = byte_codes(kType).shift;
  constexpr std::uint8_t kOffset = kShift < 0 ? 0 : 1U << kShift;
  static_assert(kGroups == B::kScales && B::kMinima == (kShift < 0));
  static_assert(B::kMinima || B::kSigned || kOffset == B::kOffset);
  B::factors(blocks, parts, scale, minimum);
  each_part(parts, [&]<int kPart>() HWY_ATTR {
    for (int first = 0; first < kPartColumns; first += kCodes) {
      auto code = B::template codes<kPart>(blocks, first);
      if constexpr (B::kSigned) code = hn::Add(code, hn::Set(Codes(), kOffset));
      hn::StoreU(code, Codes(), codes + kPart * kPartColumns + first);
    }
  });
}

template <StoredType kType>
HWY_NOINLINE HWY_ATTR void pack_byte_columns(const StoredRows& w, Index first, int columns, int parts,
                                             std::int32_t* right) {
  using B = Blocks<kType>;
  constexpr int kWide = kMostParts * 8, kMost = 2 * hn::MaxLanes(ByteFloats());
  const int panel = 2 * static_cast<int>(hn::Lanes(ByteFloats())), groups = parts * B::kScales;
  // Words of codes are moved as floats: transposing changes no bit.
  HWY_ALIGN float codes[kMost * kWide], scale[kMost * 2 * kMostParts], minimum[kMost * 2 * kMostParts];
  auto* to = reinterpret_cast<float*>(right);
  for (int column = 0; column < columns; column += panel) {
    const int n = HWY_MIN(panel, columns - column);
    if (n < panel) std::fill_n(to, panel * (parts * 8 + 2 * groups), 0.0F);
    for (int j = 0; j < n; ++j) {
      const std::byte* blocks =
          w.data + (column + j) * w.step + first * kPartColumns / B::kColumns * B::kBytes;
      // Prefetches the same blocks of the next panel's row: hardware prefetchers do not track so many rows.
      for (Index line = 0; line < kMostParts * kPartColumns / B::kColumns * B::kBytes; line += 64)
        __builtin_prefetch(blocks + panel * w.step + line);
      read_parts<kType>(blocks, parts, reinterpret_cast<std::uint8_t*>(codes + j * kWide),
                        scale + j * 2 * kMostParts, minimum + j * 2 * kMostParts);
    }
    transpose(codes, Index{kWide}, n, parts * 8, to, panel);
    to += parts * 8 * panel;
    transpose(scale, Index{2 * kMostParts}, n, groups, to, panel);
    to += groups * panel;
    if constexpr (B::kMinima) transpose(minimum, Index{2 * kMostParts}, n, groups, to, panel);
    to += groups * panel;
  }
}

HWY_ATTR void pack_byte_right(const StoredRows& w, Index first, int columns, int parts, std::int32_t* right) {
  with_block_type(w.type, [&]<StoredType kType>()
                              HWY_ATTR { pack_byte_columns<kType>(w, first, columns, parts, right); });
}

bool takes_all(StoredType) { return true; }
// For products in two instructions, where pairs of products must fit in 16 bits. For other types, f32 is as fast.
[[maybe_unused]] bool takes_small(StoredType type) { return byte_codes(type).most <= 63; }
// Products of signed bytes.
[[maybe_unused]] bool takes_below_128(StoredType type) { return byte_codes(type).most <= 127; }

ByteKernels make_byte_table() {
  const int panel = 2 * static_cast<int>(hn::Lanes(ByteFloats()));
  [[maybe_unused]] const auto table = [&](auto takes, auto multiply) {
    return ByteKernels{kByteStrip, panel, takes, pack_byte_rows, pack_byte_right, multiply};
  };
#if HWY_TARGET == HWY_AVX3
  // Without the instruction, products in f32 are as fast.
  return has_byte_products() ? table(takes_all, multiply_of_type<false>) : ByteKernels{};
#elif HWY_TARGET == HWY_AVX2
  return has_byte_products() ? table(takes_all, multiply_of_type<false>)
                             : table(takes_small, multiply_of_type<true>);
#elif HWY_TARGET == HWY_SSE4
  return table(takes_small, multiply_of_type<true>);
#elif defined(__ARM_FEATURE_DOTPROD)
  return table(takes_below_128, multiply_of_type<false>);
#else
  return {};
#endif
}
#endif

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

const ByteKernels* byte_kernels_for(SimdTarget target) {
  const ByteKernels& table = HEADLIGHT_TABLE_OF(make_byte_table, target);
  return table.multiply == nullptr ? nullptr : &table;
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
