// Softmax over one tile, for any storage of its keys and values. A Source multiplies with
// them: score() fills tile.scores with q·kᵀ, add_values() adds P·V to the accumulators. Where kScaled is set,
// each key and each value may have a separate factor. make(plan) is the Source for the strips of the tile.

#if defined(HEADLIGHT_KERNELS_ABSORB_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_ABSORB_INL_H_
#undef HEADLIGHT_KERNELS_ABSORB_INL_H_
#else
#define HEADLIGHT_KERNELS_ABSORB_INL_H_
#endif

#include <cstring>

#include "kernels/attention_tile.h"
#include "kernels/dropout-inl.h"
#include "kernels/math-inl.h"
#include "kernels/softmax-inl.h"
#include "kernels/tile_steps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_INLINE void keep_row(const Tile<T>& tile, const AbsorbOptions<T>& options, int r) {
  if (options.keep == nullptr || tile.begin[r] >= tile.end[r]) return;
  std::memcpy(options.keep[r] + tile.begin[r], tile.scores + r * tile.scores_stride + tile.begin[r],
              sizeof(T) * static_cast<std::size_t>(tile.end[r] - tile.begin[r]));
}

// Merges a tile into the states of the rows.
template <class T, class Make>
HWY_INLINE void absorb_from(const Tile<T>& tile, const SoftmaxState<T>& state,
                            const AbsorbOptions<T>& options, const Make& make) {
  StripPlan plan;
  plan_strips(tile, plan);
  const auto source = make(plan);
  HWY_ALIGN T top[kMaxRows], shift[kMaxRows], alpha[kMaxRows];
  source.score();
  if (options.fresh) clear(tile, plan, state, options.careful);
  for (int r = 0; r < tile.rows; ++r) {
    const StripRange range = plan.range[r / kStrip];
    top[r] = kHidden<T>;
    if (range.begin >= range.end) continue;
    T* row = tile.scores + r * tile.scores_stride;
    const StripRange wide = computed<T>(range);
    if constexpr (source.kScaled) source.scale_scores(row, wide);
    top[r] = finish_scores(tile, r, wide, row);
    if (options.last == nullptr || !options.last[r]) keep_row(tile, options, r);
  }
  raise_max(tile.rows, tile.rules.logit_unit, top, state.max, shift, alpha);
  for (int r = 0; r < tile.rows; ++r) {
    const StripRange range = plan.range[r / kStrip];
    if (range.begin >= range.end) continue;
    T* row = tile.scores + r * tile.scores_stride;
    const StripRange wide = computed<T>(range);
    bool hidden[kMaxTileKeys];
    if (options.careful) {
      for (int j = wide.begin; j < wide.end; ++j) hidden[j] = row[j] == kHidden<T>;
    }
    const T sum = exponentiate(row, wide, shift[r], tile.rules.logit_unit);
    state.sum[r] = state.sum[r] * alpha[r] + sum;
    if (options.last != nullptr && options.last[r]) keep_row(tile, options, r);
    if (tile.dropout.key != nullptr && tile.begin[r] < tile.end[r])
      drop(tile, r, tile.begin[r], tile.end[r], row);
    if constexpr (source.kScaled) source.scale_weights(row, wide);
    if (options.careful) source.add_values_carefully(r, hidden, alpha[r], state.acc + r * state.acc_stride);
  }
  if (!options.careful) source.add_values(state, options.fresh ? nullptr : alpha);
}

// The weights themselves, see AttentionKernels::weigh.
template <class T, class Make>
HWY_INLINE void weigh_from(const Tile<T>& tile, const T* shift, const T* factor, T* moment,
                           const Make& make) {
  const hn::ScalableTag<T> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto gone = hn::Set(d, T{-1});
  StripPlan plan;
  plan_strips(tile, plan);
  const auto source = make(plan);
  source.score();
  for (int r = 0; r < tile.rows; ++r) {
    const StripRange range = plan.range[r / kStrip];
    if (range.begin >= range.end) continue;
    T* row = tile.scores + r * tile.scores_stride;
    const StripRange wide = computed<T>(range);
    if constexpr (source.kScaled) source.scale_scores(row, wide);
    (void)finish_scores(tile, r, wide, row);
    const auto top = hn::Set(d, shift[r]), scale = hn::Set(d, factor[r]),
               logit_unit = hn::Set(d, tile.rules.logit_unit);
    const bool empty = shift[r] == kHidden<T>;
    auto sum = hn::Zero(d);
    for (int j = wide.begin; j < wide.end; j += lanes) {
      const auto s = hn::Load(d, row + j), x = hn::Mul(hn::Sub(s, top), logit_unit);
      const auto hidden = hn::Eq(s, hn::Set(d, kHidden<T>));
      const auto w = hn::Mul(exp2(d, x), scale);
      sum = hn::Add(sum, hn::IfThenZeroElse(hn::Or(hidden, hn::Eq(w, hn::Zero(d))), hn::Mul(w, x)));
      hn::Store(empty ? gone : hn::IfThenElse(hidden, gone, w), d, row + j);
    }
    if (moment != nullptr && !empty) moment[r] += hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
