// See short_unit.h. Every step is the arithmetic of attention_tile.cc.
#include "kernels/short_unit.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/target_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/short_unit.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/math-inl.h"
#include "kernels/softmax-inl.h"
#include "kernels/strip-inl.h"
#include "kernels/tile_steps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Weights of a strip times a panel of values, into the output.
template <class T>
struct OutArgs {
  StripArgs<T> product;  // c is not used
  T* const* out;         // rows
  int column;
  const T* factor;  // per row
  T* worst;         // a vector: stays 0 while all results are finite
};

template <class T, int kRows, int kVectors>
HWY_NOINLINE HWY_ATTR void multiply_out(const OutArgs<T>& args) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int lanes = static_cast<int>(hn::Lanes(d));
  T* const* out = args.out;
  const T* factor = args.factor;
  T* worst = args.worst;
  const int column = args.column;
  V sum[kRows][kVectors];
  accumulate<T, kRows, kVectors>(args.product, sum);
  const V zero = hn::Zero(d);
  V bad = hn::Load(d, worst);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const V f = hn::Set(d, factor[r]);
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const V x = hn::Add(hn::Mul(sum[r][v], f), zero);  // as store_row()
      bad = hn::Add(bad, hn::Sub(x, x));
      hn::StoreU(x, d, out[r] + column + v * lanes);
    }
  }
  hn::Store(bad, d, worst);
}

template <class T>
using OutFunction = void (*)(const OutArgs<T>&);
template <class T, std::size_t... kRow>
constexpr auto out_functions(std::index_sequence<kRow...> /*heights*/) {
  return std::array<std::array<OutFunction<T>, 2>, sizeof...(kRow)>{
      {{multiply_out<T, static_cast<int>(kRow) + 1, 1>, multiply_out<T, static_cast<int>(kRow) + 1, 2>}...}};
}

// Rows first … first+rows-1 of a unit.
template <class T>
struct ShortStrip {
  static constexpr int kMostLanes = HWY_MAX_BYTES / sizeof(T);
  static constexpr int kScoresStride = ShortUnit<T>::kKeys + 64 / sizeof(T),
                       kQStride = ShortUnit<T>::kDim + 64 / sizeof(T);
  HWY_ALIGN T q[kStrip * kQStride];
  HWY_ALIGN T scores[kStrip * kScoresStride];
  HWY_ALIGN T worst[kMostLanes];
  HWY_ALIGN T sum[kStrip + kMostLanes];
  HWY_ALIGN T factor[kStrip + kMostLanes];  // 1/sum, or 0
};

template <class T>
HWY_INLINE void load_queries(const ShortUnit<T>& unit, int first, int rows, ShortStrip<T>& strip) {
  const hn::ScalableTag<T> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto f = hn::Set(d, unit.factor);
  for (int r = 0; r < rows; ++r) {
    const T* from = unit.q[first + r];
    T* to = strip.q + r * ShortStrip<T>::kQStride;
    int x = 0;
    for (; x + lanes <= unit.dim; x += lanes) hn::Store(hn::Mul(hn::LoadU(d, from + x), f), d, to + x);
    for (; x < unit.dim; ++x) to[x] = from[x] * unit.factor;
  }
}

template <class T>
HWY_INLINE void soften(ShortUnit<T>& unit, int first, int rows, StripRange wide, ShortStrip<T>& strip) {
  for (int r = 0; r < rows; ++r) {
    const int begin = unit.begin[first + r], end = HWY_MAX(begin, unit.end[first + r]);
    unit.max[first + r] = trim(strip.scores + r * ShortStrip<T>::kScoresStride, wide, begin, end);
  }
  for (int r = 0; r < rows; ++r) {
    const T top = unit.max[first + r], shift = top == kHidden<T> ? T{0} : top;
    strip.sum[r] = exponentiate_in<false>(strip.scores + r * ShortStrip<T>::kScoresStride, wide, shift, T{1});
    unit.sum[first + r] = strip.sum[r];
  }
  // Together, while the products with the values run, which need them last.
  const hn::ScalableTag<T> d;
  for (int r = 0; r < kStrip; r += static_cast<int>(hn::Lanes(d))) {
    const auto sum = hn::Load(d, strip.sum + r);
    const auto factor = hn::Div(hn::Set(d, T{1}), sum);
    hn::Store(hn::IfThenZeroElse(hn::Eq(sum, hn::Zero(d)), factor), d, strip.factor + r);
  }
}

template <class T>
HWY_INLINE void run_strip(ShortUnit<T>& unit, int first, int rows, StripRange range, int fetches,
                          ShortStrip<T>& strip) {
  static constexpr auto kOut = out_functions<T>(std::make_index_sequence<kStrip>());
  const int lanes = static_cast<int>(hn::Lanes(hn::ScalableTag<T>())), panel = 2 * lanes;
  load_queries(unit, first, rows, strip);
  for (int key = range.begin / panel * panel; key < range.end; key += panel) {
    if (fetches > 0) unit.ahead->fetch(fetches);
    multiply_strip<T>(
        rows, range.end - key > lanes ? 2 : 1,
        {unit.dim, strip.q, ShortStrip<T>::kQStride, unit.keys + static_cast<Index>(key) * unit.dim, panel,
         strip.scores + key, ShortStrip<T>::kScoresStride, nullptr});
  }
  for (int r = first + rows; r < HWY_MIN(unit.rows, first + rows + kStrip); ++r) {
    for (int x = 0; x < unit.dim; x += static_cast<int>(FetchAhead::kLine / sizeof(T)))
      __builtin_prefetch(unit.q[r] + x);
  }
  soften(unit, first, rows, computed<T>(range), strip);
  for (int x = 0; x < unit.value_dim; x += panel) {
    const int vectors = unit.value_dim - x > lanes ? 2 : 1;
    if (fetches > 0) unit.ahead->fetch(fetches);
    kOut[static_cast<std::size_t>(rows - 1)][static_cast<std::size_t>(vectors - 1)](
        {{range.end - range.begin, strip.scores + range.begin, ShortStrip<T>::kScoresStride,
          unit.values + range.begin * unit.value_stride + x, unit.value_stride, nullptr, 0, nullptr},
         unit.out + first,
         x,
         strip.factor,
         strip.worst});
  }
}

// Rows that see no key.
template <class T>
HWY_INLINE void clear_strip(ShortUnit<T>& unit, int first, int rows) {
  for (int r = first; r < first + rows; ++r) {
    unit.max[r] = kHidden<T>;
    unit.sum[r] = 0;
    std::memset(unit.out[r], 0, sizeof(T) * static_cast<std::size_t>(unit.value_dim));
  }
}

template <class T>
HWY_ATTR bool run_short(ShortUnit<T>& unit) {
  const hn::ScalableTag<T> d;
  const int panel = 2 * static_cast<int>(hn::Lanes(d)), strips = (unit.rows + kStrip - 1) / kStrip;
  ShortStrip<T> strip;
  hn::Store(hn::Zero(d), d, strip.worst);
  std::fill(strip.sum, strip.sum + kStrip + ShortStrip<T>::kMostLanes, T{1});
  const int products =
      strips * ((ShortUnit<T>::kKeys + panel - 1) / panel + (unit.value_dim + panel - 1) / panel);
  const int fetches = unit.ahead == nullptr ? 0 : unit.ahead->rows() / HWY_MAX(1, products) + 1;
  for (int first = 0; first < unit.rows; first += kStrip) {
    const int rows = HWY_MIN(kStrip, unit.rows - first);
    StripRange range{ShortUnit<T>::kKeys, 0};
    for (int r = first; r < first + rows; ++r) {
      if (unit.begin[r] >= unit.end[r]) continue;
      range.begin = HWY_MIN(range.begin, unit.begin[r]);
      range.end = HWY_MAX(range.end, unit.end[r]);
    }
    if (range.begin < range.end) run_strip(unit, first, rows, range, fetches, strip);
    else clear_strip(unit, first, rows);
  }
  return hn::AllTrue(d, hn::Eq(hn::Load(d, strip.worst), hn::Zero(d)));
}

ShortTable make_short_table() { return {run_short<float>, run_short<double>}; }

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

const ShortTable& short_kernels_for(SimdTarget target) {
  return HEADLIGHT_TABLE_OF(make_short_table, target);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
