// The register tile of strip-inl.h with a right-hand side that is stored narrower than f32 and widened when it
// is loaded into the register. The order of every sum is the same, so f32 gives the same bits.

#if defined(HEADLIGHT_KERNELS_STORED_STRIP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_STORED_STRIP_INL_H_
#undef HEADLIGHT_KERNELS_STORED_STRIP_INL_H_
#else
#define HEADLIGHT_KERNELS_STORED_STRIP_INL_H_
#endif

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "headlight/tensor.h"
#include "hwy/highway.h"
#include "kernels/cache_tile.h"
#include "kernels/pack-inl.h"
#include "kernels/strip-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;

// The vectors that a type is widened into. Converting f16 and int8 competes with the fused operations
// less when it fills 256 bits than when it fills 512.
template <class S>
struct StoredTag {
  using type = FloatTag;
};
#if HWY_TARGET == HWY_AVX3
template <>
struct StoredTag<F16> {
  using type = hn::FixedTag<float, 8>;
};
template <>
struct StoredTag<std::int8_t> {
  using type = hn::FixedTag<float, 8>;
};
#endif

// int8 arrives as the top byte of 32 bits, so the values are 2^24 times too large.
inline constexpr float kInt8Unit = 0x1p-24f;

template <class S>
HWY_INLINE PanelOrder order_of() {
  const int panel = 2 * static_cast<int>(hn::Lanes(FloatTag()));
  const int lanes = static_cast<int>(hn::Lanes(typename StoredTag<S>::type()));
  if constexpr (sizeof(S) == 1) return {panel, lanes, 4 * lanes / panel, 4};
  else if constexpr (std::is_same_v<S, BF16>) return {panel, lanes, 1, 2};
  else return {panel, panel, 1, 1};
}

// Vector v of row k of a panel. `early` in bytes: the element's end must be the end of its 32 bits.
template <class D>
HWY_INLINE hn::Vec<D> load_masked(D d, const void* from, Index early, std::uint32_t mask) {
  const hn::RebindToUnsigned<D> du;
  const auto* at = static_cast<const std::uint8_t*>(from) - early;
  return hn::BitCast(d,
                     hn::And(hn::LoadU(du, reinterpret_cast<const std::uint32_t*>(at)), hn::Set(du, mask)));
}

template <class D>
HWY_INLINE hn::Vec<D> load_stored(D d, const float* panel, Index k, int v) {
  const int lanes = static_cast<int>(hn::Lanes(d));
  return hn::LoadU(d, panel + k * 2 * static_cast<int>(hn::Lanes(FloatTag())) + v * lanes);
}

template <class D>
HWY_INLINE hn::Vec<D> load_stored(D d, const F16* panel, Index k, int v) {
  const F16* from =
      panel + k * 2 * static_cast<int>(hn::Lanes(FloatTag())) + v * static_cast<int>(hn::Lanes(d));
#if HEADLIGHT_F16C
  return hn::Vec<D>{_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)))};
#else
  // As widen_f16 in pack-inl.h, for whole vectors.
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::uint16_t, D> dh;
  const auto bits = hn::PromoteTo(du, hn::LoadU(dh, reinterpret_cast<const std::uint16_t*>(from)));
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7FFFU));
  const auto shifted = hn::ShiftLeft<13>(magnitude);
  const auto scaled = hn::BitCast(du, hn::Mul(hn::BitCast(d, shifted), hn::Set(d, 0x1p112f)));
  const auto special = hn::Or(hn::Set(du, 0x7F800000U), shifted);
  const auto is_special = hn::Gt(hn::BitCast(di, magnitude), hn::Set(di, 0x7BFF));
  const auto chosen = hn::IfThenElse(hn::RebindMask(du, is_special), special, scaled);
  return hn::BitCast(d, hn::Or(chosen, hn::ShiftLeft<16>(hn::AndNot(hn::Set(du, 0x7FFFU), bits))));
#endif
}

template <class D>
HWY_INLINE hn::Vec<D> load_stored(D d, const BF16* panel, Index k, int v) {
  return load_masked(d, panel + order_of<BF16>().at(k, 0), 2 * (1 - v), 0xFFFF0000U);
}

template <class D>
HWY_INLINE hn::Vec<D> load_stored(D d, const std::int8_t* panel, Index k, int v) {
  const auto bits = load_masked(d, panel + order_of<std::int8_t>().at(k, 0), 3 - v, 0xFF000000U);
  return hn::ConvertTo(d, hn::BitCast(hn::RebindToSigned<D>(), bits));
}

// How many bytes ahead of the multiplication memory is prefetched, and into which cache. f32 is read
// faster with hardware prefetching alone; decision 0006 has the numbers.
template <class S>
inline constexpr Index kAhead = sizeof(S) == 4   ? 0
                                : sizeof(S) == 2 ? 8192
                                                 : 4096;
template <class S>
inline constexpr int kFetchHint = sizeof(S) == 1 ? 3 : 2;  // 3: first cache, 2: second

template <class S>
struct StoredArgs {
  Index begin, end;  // rows of the panel
  const float* a;    // [rows][a_stride], broadcast one by one, from row `begin` of the panel on
  Index a_stride;
  const S* b;  // the panel, from its row 0
  float* c;    // [rows][c_stride]
  Index c_stride;
  const float* alpha;      // per row; null: c is not read
  const std::byte* ahead;  // what to fetch meanwhile: as many bytes as are used of b
};

// c = a·b, or c = c·alpha + a·b with the product started from zero.
template <class S, int kRows, int kVectors>
HWY_NOINLINE HWY_ATTR void multiply_stored(const StoredArgs<S>& args) {
  const typename StoredTag<S>::type d;
  using V = hn::Vec<decltype(d)>;
  const int lanes = static_cast<int>(hn::Lanes(d)), panel = 2 * static_cast<int>(hn::Lanes(FloatTag()));
  constexpr int kUnroll = 4, kLine = 64;
  V sum[kRows][kVectors];
  const float* row[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    row[r] = args.a + r * args.a_stride - args.begin;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  float* c = args.c;
  const float* alpha = args.alpha;
  const std::byte* ahead = args.ahead;
  const Index c_stride = args.c_stride, end = args.end;
  // Row k, which is row u of `b`.
  const auto step = [&](const S* b, Index u, Index k) HWY_ATTR {
    V right[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) right[v] = load_stored(d, b, u, v);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const V x = hn::Set(d, row[r][k]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(x, right[v], sum[r][v]);
    }
  };
  Index k = args.begin;
  for (; k < end && k % kUnroll != 0; ++k) step(args.b, k, k);
  const S* b = args.b + k * panel;
  const int bytes = kUnroll * panel * static_cast<int>(sizeof(S));
  for (; k + kUnroll <= end; k += kUnroll, b += kUnroll * panel) {
    if constexpr (kAhead < S >> 0) {
      for (int line = 0; line < bytes; line += kLine) __builtin_prefetch(ahead + line, 0, kFetchHint<S>);
    }
    ahead += bytes;
#pragma GCC unroll 4
    for (int u = 0; u < kUnroll; ++u) step(b, u, k + u);
  }
  for (; k < end; ++k) step(args.b, k, k);
  if (alpha != nullptr) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        sum[r][v] = hn::MulAdd(hn::LoadU(d, c + r * c_stride + v * lanes), hn::Set(d, alpha[r]), sum[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[r][v], d, c + r * c_stride + v * lanes);
  }
}

// One function for every height that fits the registers, for half a panel and a whole one.
template <class S>
using StoredFunction = void (*)(const StoredArgs<S>&);
template <class S, int kHalf, std::size_t... kRow>
constexpr auto stored_functions(std::index_sequence<kRow...> /*heights*/) {
  return std::array<std::array<StoredFunction<S>, 2>, sizeof...(kRow)>{
      {{multiply_stored<S, static_cast<int>(kRow) + 1, kHalf>,
        multiply_stored<S, static_cast<int>(kRow) + 1, 2 * kHalf>}...}};
}

template <class S>
HWY_INLINE void multiply_stored_strip(int rows, int halves, const StoredArgs<S>& args) {
  // NOLINTNEXTLINE(bugprone-sizeof-expression): vectors of one or of two widths
  constexpr int kHalf = sizeof(hn::Vec<FloatTag>) / sizeof(hn::Vec<typename StoredTag<S>::type>);
  // Accumulators that would not fit the registers are split over two calls.
  constexpr int kMost = kHalf > 1 ? 6 : kStrip;
  static constexpr auto kTable = stored_functions<S, kHalf>(std::make_index_sequence<kMost>());
  const auto call = [halves](int height, const StoredArgs<S>& some) HWY_ATTR {
    kTable[static_cast<std::size_t>(height - 1)][static_cast<std::size_t>(halves - 1)](some);
  };
  if (rows > kMost) {
    StoredArgs<S> rest = args;
    rest.a += 4 * args.a_stride;
    rest.c += 4 * args.c_stride;
    if (rest.alpha != nullptr) rest.alpha += 4;
    call(rows - 4, rest);
    rows = 4;
  }
  call(rows, args);
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
