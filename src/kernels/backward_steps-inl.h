// Steps that the gradient kernels share: from products to the weights and the gradients of the scores.

#if defined(HEADLIGHT_KERNELS_BACKWARD_STEPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_BACKWARD_STEPS_INL_H_
#undef HEADLIGHT_KERNELS_BACKWARD_STEPS_INL_H_
#else
#define HEADLIGHT_KERNELS_BACKWARD_STEPS_INL_H_
#endif

#include <cstring>

#include "kernels/backward_tile.h"
#include "kernels/dropout-inl.h"
#include "kernels/math-inl.h"
#include "kernels/tile_steps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int kMaxBackwardKeys = kMaxTileKeys;

// Computes p (for dv) and ds (for dk and dq) from one row of scores and dp. Outside of the keys that the
// row sees both are zero, whatever dp holds there.
template <class T>
HWY_ATTR void weigh_row(const BackwardTile<T>& b, int r, StripRange wide) {
  const hn::ScalableTag<T> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const Tile<T>& tile = b.tile;
  T* p_row = tile.scores + r * tile.scores_stride;
  T* ds_row = b.dp + r * tile.scores_stride;
  HWY_ALIGN T slope[kMaxBackwardKeys];  // of the softcap: 1 - tanh²
  const bool capped = tile.rules.any() && tile.rules.cap > 0 && !b.of_scores;
  if (capped) {
    for (int j = wide.begin; j < wide.end; j += lanes) {
      const auto t = tanh(d, hn::Load(d, p_row + j));
      hn::Store(hn::NegMulAdd(t, t, hn::Set(d, T{1})), d, slope + j);
    }
  }
  (void)finish_scores(tile, r, wide, p_row);
  HWY_ALIGN T kept[kMaxBackwardKeys];
  const bool dropping = tile.dropout.key != nullptr && tile.begin[r] < tile.end[r];
  if (dropping) {
    const auto scale = static_cast<T>(tile.dropout.scale);
    for (int j = wide.begin; j < wide.end; ++j) kept[j] = scale;
    drop(tile, r, tile.begin[r], tile.end[r], kept);
  }
  const auto shift = hn::Set(d, b.shift[r]), delta = hn::Set(d, b.delta[r]), factor = hn::Set(d, b.factor[r]),
             logit_unit = hn::Set(d, tile.rules.logit_unit);
  for (int j = wide.begin; j < wide.end; j += lanes) {
    const auto s = hn::Load(d, p_row + j);
    const auto hidden = hn::Eq(s, hn::Set(d, kHidden<T>));
    const auto weight = hn::Mul(exp2(d, hn::Mul(hn::Sub(s, shift), logit_unit)), factor);
    auto p = hn::IfThenZeroElse(hidden, weight);
    auto dp = hn::Load(d, ds_row + j);
    if (dropping) dp = hn::Mul(dp, hn::Load(d, kept + j));
    auto ds = hn::Mul(p, hn::Sub(dp, delta));
    if (capped) ds = hn::Mul(ds, hn::Load(d, slope + j));
    if (dropping) p = hn::Mul(p, hn::Load(d, kept + j));
    hn::Store(p, d, p_row + j);
    hn::Store(hn::IfThenZeroElse(hidden, ds), d, ds_row + j);
  }
}

// p and ds of the whole tile. Products over rows read columns of both, so what no strip computed
// inside [plan.begin, plan.end) must be zero.
// multiply(plan) fills tile.scores with q·kᵀ and dp with dout·vᵀ.
template <class T, class Multiply>
HWY_INLINE void weigh_tile(const BackwardTile<T>& b, StripPlan& plan, const Multiply& multiply) {
  const Tile<T>& tile = b.tile;
  plan_strips(tile, plan);
  multiply(plan);
  const int lanes = static_cast<int>(hn::Lanes(hn::ScalableTag<T>()));
  const int from = plan.begin / (2 * lanes) * (2 * lanes), to = (plan.end + lanes - 1) / lanes * lanes;
  const auto clear = [&](int r, int begin, int end) {
    if (begin >= end) return;
    std::memset(tile.scores + r * tile.scores_stride + begin, 0,
                sizeof(T) * static_cast<std::size_t>(end - begin));
    std::memset(b.dp + r * tile.scores_stride + begin, 0, sizeof(T) * static_cast<std::size_t>(end - begin));
  };
  for (int r = 0; r < tile.rows; ++r) {
    const StripRange range = plan.range[r / kStrip];
    if (range.begin >= range.end) {
      clear(r, from, to);
      continue;
    }
    const StripRange wide = computed<T>(range);
    weigh_row(b, r, wide);
    clear(r, from, wide.begin);
    clear(r, wide.end, to);
  }
}

// The rows that see any of keys first … first+keys-1: a run, because both ends of a row's visible keys
// never decrease from row to row.
template <class T>
HWY_INLINE StripRange rows_seeing(const Tile<T>& tile, int first, int keys) {
  int begin = 0, end = tile.rows;
  while (begin < end && (tile.end[begin] <= first || tile.begin[begin] >= first + keys)) ++begin;
  while (end > begin && (tile.end[end - 1] <= first || tile.begin[end - 1] >= first + keys)) --end;
  return {begin, end};
}

// Which pairs are visible. Recomputes the logits, because weights() has overwritten them.
// multiply(plan) fills tile.scores with q·kᵀ.
template <class T, class Multiply>
HWY_INLINE void find_seen(const BackwardTile<T>& b, bool* seen, const Multiply& multiply) {
  const Tile<T>& tile = b.tile;
  StripPlan plan;
  plan_strips(tile, plan);
  multiply(plan);
  std::memset(seen, 0, static_cast<std::size_t>(tile.rows) * kMaxBackwardKeys);
  for (int r = 0; r < tile.rows; ++r) {
    const StripRange range = plan.range[r / kStrip];
    if (range.begin >= range.end) continue;
    T* row = tile.scores + r * tile.scores_stride;
    (void)finish_scores(tile, r, computed<T>(range), row);
    for (int j = tile.begin[r]; j < tile.end[r]; ++j) seen[r * kMaxBackwardKeys + j] = row[j] != kHidden<T>;
  }
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
