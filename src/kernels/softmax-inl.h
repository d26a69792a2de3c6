// The running softmax of a block of rows: largest logit, sum of exponentials, and their initial values.

#if defined(HEADLIGHT_KERNELS_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SOFTMAX_INL_H_
#undef HEADLIGHT_KERNELS_SOFTMAX_INL_H_
#else
#define HEADLIGHT_KERNELS_SOFTMAX_INL_H_
#endif

#include <cstring>

#include "kernels/attention_tile.h"
#include "kernels/math-inl.h"
#include "kernels/tile_steps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// row = exp2((row - shift)·logit_unit); returns its sum. Even and odd vectors are summed separately, in order: vectors
// that this row would not need on its own hold zeros and change nothing.
template <bool kUnits, class T>
HWY_INLINE T exponentiate_in(T* row, StripRange wide, T shift, T logit_unit) {
  const hn::ScalableTag<T> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto top = hn::Set(d, shift);
  auto even = hn::Zero(d), odd = even;
  const auto weight = [&](int at) HWY_ATTR {
    const auto x = hn::Sub(hn::Load(d, row + at), top);
    if constexpr (kUnits) return exp2(d, hn::Mul(x, hn::Set(d, logit_unit)));
    else return exp2(d, x);
  };
  int j = wide.begin;
  for (; j + 2 * lanes <= wide.end; j += 2 * lanes) {
    const auto p = weight(j), q = weight(j + lanes);
    even = hn::Add(even, p);
    odd = hn::Add(odd, q);
    hn::Store(p, d, row + j);
    hn::Store(q, d, row + j + lanes);
  }
  if (j < wide.end) {
    const auto p = weight(j);
    even = hn::Add(even, p);
    hn::Store(p, d, row + j);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

template <class T>
HWY_INLINE T exponentiate(T* row, StripRange wide, T shift, T logit_unit) {
  return logit_unit == 1 ? exponentiate_in<false>(row, wide, shift, logit_unit)
                         : exponentiate_in<true>(row, wide, shift, logit_unit);
}

// Raises the rows' maxima to `top`. Sets shift, to be subtracted, and alpha, the factor of earlier sums.
template <class T>
HWY_INLINE void raise_max(int rows, T logit_unit, const T* top, T* max, T* shift, T* alpha) {
  const hn::ScalableTag<T> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int r = 0; r < rows; r += lanes) {
    const auto old = hn::Load(d, max + r), now = hn::Max(old, hn::Load(d, top + r));
    // A row that has seen no key yet: exp2(-inf - 0) is 0, exp2(-inf - -inf) would be NaN.
    const auto safe = hn::IfThenZeroElse(hn::Eq(now, hn::Set(d, kHidden<T>)), now);
    hn::Store(now, d, max + r);
    hn::Store(safe, d, shift + r);
    hn::Store(exp2(d, hn::Mul(hn::Sub(old, safe), hn::Set(d, logit_unit))), d, alpha + r);
  }
}

// Initialises the rows that this first tile does not cover.
template <class T>
HWY_INLINE void clear(const Tile<T>& tile, const StripPlan& plan, const SoftmaxState<T>& state, bool all) {
  for (int r = 0; r < (tile.rows + 15) / 16 * 16; ++r) {
    state.max[r] = kHidden<T>;
    state.sum[r] = 0;
  }
  for (int r = 0; r < tile.rows; ++r) {
    const StripRange range = plan.range[r / kStrip];
    if (!all && range.begin < range.end) continue;
    std::memset(state.acc + r * state.acc_stride, 0, sizeof(T) * static_cast<std::size_t>(tile.value_dim));
  }
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
