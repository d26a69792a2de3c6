// The register tile: a strip of rows times a panel of one or two vectors, one fused multiply-add per
// element and step of depth, in order. Each row's arithmetic is the same whatever the strip's height
// and the panel's width, so a row's bits do not depend on its neighbours.

#if defined(HEADLIGHT_KERNELS_STRIP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_STRIP_INL_H_
#undef HEADLIGHT_KERNELS_STRIP_INL_H_
#else
#define HEADLIGHT_KERNELS_STRIP_INL_H_
#endif

#include <array>
#include <cstddef>
#include <utility>

#include "headlight/tensor.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 6 × 2 accumulators, two panel vectors and a broadcast fill AVX2's 16 registers; AVX-512 has 32. Without vectors, 4 × 2
// sums are enough to keep the adders busy.
inline constexpr int kStrip = HWY_TARGET == HWY_AVX3 ? 8 : HWY_TARGET == HWY_SCALAR ? 4 : 6;

template <class T>
struct StripArgs {
  int depth;
  const T* a;  // [rows][a_stride], broadcast one by one
  Index a_stride;
  const T* b;  // [depth][b_stride], a vector or two of each row
  Index b_stride;
  T* c;  // [rows][c_stride]
  Index c_stride;
  const T* alpha;  // per row; null: c is not read
};

// sum = a·b
template <class T, int kRows, int kVectors, class V = hn::Vec<hn::ScalableTag<T>>>
HWY_INLINE void accumulate(const StripArgs<T>& args, V (&sum)[kRows][kVectors]) {
  const hn::ScalableTag<T> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const T* row[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    row[r] = args.a + r * args.a_stride;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  const T* b = args.b;
  const Index b_stride = args.b_stride, depth = args.depth;
#pragma GCC unroll 4
  for (Index k = 0; k < depth; ++k, b += b_stride) {
    V panel[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) panel[v] = hn::LoadU(d, b + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const V x = hn::Set(d, row[r][k]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(x, panel[v], sum[r][v]);
    }
  }
}

// c = a·b, or c = c·alpha + a·b with the product started from zero.
template <class T, int kRows, int kVectors>
HWY_NOINLINE HWY_ATTR void multiply(const StripArgs<T>& args) {
  const hn::ScalableTag<T> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  T* c = args.c;  // copies: a store through c must not alias args
  const T* alpha = args.alpha;
  const Index c_stride = args.c_stride;
  hn::Vec<decltype(d)> sum[kRows][kVectors];
  accumulate<T, kRows, kVectors>(args, sum);
  if (alpha != nullptr) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v)
        sum[r][v] = hn::MulAdd(hn::LoadU(d, c + r * c_stride + v * lanes), hn::Set(d, alpha[r]), sum[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[r][v], d, c + r * c_stride + v * lanes);
  }
}

// c += aᵀ·b: `a` is [depth][a_stride] and the strip's rows are its columns. Starts from zero and is added
// to c at the end, like multiply().
template <class T, int kRows, int kVectors>
HWY_NOINLINE HWY_ATTR void multiply_transposed(const StripArgs<T>& args) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int lanes = static_cast<int>(hn::Lanes(d));
  V sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  const T* a = args.a;
  const T* b = args.b;
  T* c = args.c;
  const Index a_stride = args.a_stride, b_stride = args.b_stride, c_stride = args.c_stride,
              depth = args.depth;
#pragma GCC unroll 4
  for (Index k = 0; k < depth; ++k, a += a_stride, b += b_stride) {
    V panel[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) panel[v] = hn::LoadU(d, b + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const V x = hn::Set(d, a[r]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(x, panel[v], sum[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      T* to = c + r * c_stride + v * lanes;
      hn::StoreU(hn::Add(hn::LoadU(d, to), sum[r][v]), d, to);
    }
  }
}

// One function for every height of a strip, one and two vectors wide.
template <class T>
using StripFunction = void (*)(const StripArgs<T>&);
template <class T, std::size_t... kRow>
constexpr auto strip_functions(std::index_sequence<kRow...> /*heights*/) {
  return std::array<std::array<StripFunction<T>, 2>, sizeof...(kRow)>{
      {{multiply<T, static_cast<int>(kRow) + 1, 1>, multiply<T, static_cast<int>(kRow) + 1, 2>}...}};
}
template <class T, std::size_t... kRow>
constexpr auto transposed_strip_functions(std::index_sequence<kRow...> /*heights*/) {
  return std::array<std::array<StripFunction<T>, 2>, sizeof...(kRow)>{
      {{multiply_transposed<T, static_cast<int>(kRow) + 1, 1>,
        multiply_transposed<T, static_cast<int>(kRow) + 1, 2>}...}};
}

template <class T>
HWY_INLINE void multiply_strip_transposed(int rows, int vectors, const StripArgs<T>& args) {
  static constexpr auto kTable = transposed_strip_functions<T>(std::make_index_sequence<kStrip>());
  kTable[static_cast<std::size_t>(rows - 1)][static_cast<std::size_t>(vectors - 1)](args);
}

template <class T>
HWY_INLINE void multiply_strip(int rows, int vectors, const StripArgs<T>& args) {
  static constexpr auto kTable = strip_functions<T>(std::make_index_sequence<kStrip>());
  kTable[static_cast<std::size_t>(rows - 1)][static_cast<std::size_t>(vectors - 1)](args);
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
