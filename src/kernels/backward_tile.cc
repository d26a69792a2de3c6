// The gradient of attention on one tile, compiled once per SIMD target. Legend in backward_tile.h.
#include "kernels/backward_tile.h"

#include <cstring>

#include "kernels/kernels.h"
#include "kernels/target_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/backward_tile.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/dropout-inl.h"
#include "kernels/math-inl.h"
#include "kernels/tile_steps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int kMaxBackwardKeys = kMaxTileKeys;

// From one row of scores and dp to p (what dv takes) and ds (what dk and dq take). Outside of what the
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
             unit = hn::Set(d, tile.rules.unit);
  for (int j = wide.begin; j < wide.end; j += lanes) {
    const auto s = hn::Load(d, p_row + j);
    const auto hidden = hn::Eq(s, hn::Set(d, kHidden<T>));
    const auto weight = hn::Mul(exp2(d, hn::Mul(hn::Sub(s, shift), unit)), factor);
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
template <class T>
HWY_ATTR void weights(const BackwardTile<T>& b, StripPlan& plan) {
  const Tile<T>& tile = b.tile;
  plan_strips(tile, plan);
  multiply_keys<T>(tile, plan, {tile.q, tile.q_stride, tile.dim, tile.keys, tile.scores});
  multiply_keys<T>(tile, plan, {b.dout, b.dout_stride, tile.value_dim, b.value_keys, b.dp});
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

// The rows that see any of keys first … first+keys-1: a run, since neither end of what a row sees
// ever moves backwards.
template <class T>
HWY_INLINE StripRange rows_seeing(const Tile<T>& tile, int first, int keys) {
  int begin = 0, end = tile.rows;
  while (begin < end && (tile.end[begin] <= first || tile.begin[begin] >= first + keys)) ++begin;
  while (end > begin && (tile.end[end - 1] <= first || tile.begin[end - 1] >= first + keys)) --end;
  return {begin, end};
}

// sums[key] += weightsᵀ·rows, for every key that some row sees.
template <class T>
struct KeySums {
  const T* weights;  // [rows][tile.scores_stride]
  const T* rows;
  Index stride;
  int columns;  // in whole vectors
  T* sums;
  Index sums_stride;
};

template <class T>
HWY_ATTR void add_to_keys(const Tile<T>& tile, const StripPlan& plan, const KeySums<T>& k) {
  const int lanes = static_cast<int>(hn::Lanes(hn::ScalableTag<T>())), panel = 2 * lanes;
  for (int key = plan.begin; key < plan.end; key += kStrip) {
    const int keys = HWY_MIN(kStrip, plan.end - key);
    const StripRange rows = rows_seeing(tile, key, keys);
    if (rows.begin >= rows.end) continue;
    for (int x = 0; x < k.columns; x += panel) {
      multiply_strip_transposed<T>(keys, k.columns - x > lanes ? 2 : 1,
                                   {rows.end - rows.begin, k.weights + rows.begin * tile.scores_stride + key,
                                    tile.scores_stride, k.rows + rows.begin * k.stride + x, k.stride,
                                    k.sums + key * k.sums_stride + x, k.sums_stride, nullptr});
    }
  }
}

// The same, key by key and only over rows that see the key.
template <class T>
HWY_ATTR void add_to_keys_carefully(const Tile<T>& tile, const StripPlan& plan, const KeySums<T>& k,
                                    const bool* seen) {
  const hn::ScalableTag<T> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int key = plan.begin; key < plan.end; ++key) {
    for (int x = 0; x < k.columns; x += lanes) {
      auto sum = hn::Zero(d);
      for (int r = 0; r < tile.rows; ++r) {
        if (!seen[r * kMaxBackwardKeys + key]) continue;
        sum = hn::MulAdd(hn::Set(d, k.weights[r * tile.scores_stride + key]),
                         hn::LoadU(d, k.rows + r * k.stride + x), sum);
      }
      T* to = k.sums + key * k.sums_stride + x;
      hn::StoreU(hn::Add(hn::LoadU(d, to), sum), d, to);
    }
  }
}

// Which pairs exist at all: the logits are gone once weights() has run, so they are computed again.
template <class T>
HWY_ATTR void find_seen(const BackwardTile<T>& b, bool* seen) {
  const Tile<T>& tile = b.tile;
  StripPlan plan;
  score_strips(tile, plan);
  std::memset(seen, 0, static_cast<std::size_t>(tile.rows) * kMaxBackwardKeys);
  for (int r = 0; r < tile.rows; ++r) {
    const StripRange range = plan.range[r / kStrip];
    if (range.begin >= range.end) continue;
    T* row = tile.scores + r * tile.scores_stride;
    (void)finish_scores(tile, r, computed<T>(range), row);
    for (int j = tile.begin[r]; j < tile.end[r]; ++j) seen[r * kMaxBackwardKeys + j] = row[j] != kHidden<T>;
  }
}

template <class T>
HWY_ATTR void backward_keys(const BackwardTile<T>& b, const BackwardSums<T>& sums) {
  const Tile<T>& tile = b.tile;
  const int lanes = static_cast<int>(hn::Lanes(hn::ScalableTag<T>()));
  const int columns = (tile.dim + lanes - 1) / lanes * lanes,
            value_columns = (tile.value_dim + lanes - 1) / lanes * lanes;
  const KeySums<T> dv{tile.scores, b.dout, b.dout_stride, value_columns, sums.dv, sums.dv_stride};
  const KeySums<T> dk{b.dp, tile.q, tile.q_stride, columns, sums.dk, sums.dk_stride};
  StripPlan plan;
  if (b.careful) find_seen(b, b.seen);
  weights(b, plan);
  if (b.careful) {
    add_to_keys_carefully(tile, plan, dv, b.seen);
    add_to_keys_carefully(tile, plan, dk, b.seen);
  } else {
    add_to_keys(tile, plan, dv);
    add_to_keys(tile, plan, dk);
  }
}

template <class T>
HWY_ATTR void backward_rows(const BackwardTile<T>& b, const BackwardSums<T>& sums) {
  const hn::ScalableTag<T> d;
  const Tile<T>& tile = b.tile;
  const int lanes = static_cast<int>(hn::Lanes(d)), panel = 2 * lanes;
  const int columns = (tile.dim + lanes - 1) / lanes * lanes;
  StripPlan plan;
  plan_strips(tile, plan);
  HWY_ALIGN T ones[kStrip];
  for (T& one : ones) one = 1;
  for (int x = 0; x < columns; x += panel) {
    const T* keys = b.key_rows + x / panel * b.key_rows_panel_stride;
    for (int s = 0; s < plan.strips; ++s) {
      const StripRange range = plan.range[s];
      if (range.begin >= range.end) continue;
      const int first = s * kStrip, rows = HWY_MIN(kStrip, tile.rows - first);
      if (!b.careful) {
        multiply_strip<T>(rows, columns - x > lanes ? 2 : 1,
                          {range.end - range.begin, b.dp + first * tile.scores_stride + range.begin,
                           tile.scores_stride, keys + static_cast<Index>(range.begin) * panel, panel,
                           sums.dq + first * sums.dq_stride + x, sums.dq_stride, ones});
        continue;
      }
      for (int r = first; r < first + rows; ++r) {
        for (int v = x; v < HWY_MIN(x + panel, columns); v += lanes) {
          auto sum = hn::Zero(d);
          for (int j = tile.begin[r]; j < tile.end[r]; ++j) {
            if (!b.seen[r * kMaxBackwardKeys + j]) continue;
            sum = hn::MulAdd(hn::Set(d, b.dp[r * tile.scores_stride + j]),
                             hn::LoadU(d, keys + static_cast<Index>(j) * panel + v - x), sum);
          }
          T* to = sums.dq + r * sums.dq_stride + v;
          hn::StoreU(hn::Add(hn::LoadU(d, to), sum), d, to);
        }
      }
    }
  }
}

template <class T>
HWY_ATTR void only_weights(const BackwardTile<T>& b) {
  StripPlan plan;
  weights(b, plan);
}

template <class T>
HWY_ATTR T dot(const T* a, const T* b, int n) {
  const hn::ScalableTag<T> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  auto sum = hn::Zero(d);
  int i = 0;
  for (; i + lanes <= n; i += lanes) sum = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum);
  T rest = 0;
  for (; i < n; ++i) rest += a[i] * b[i];
  return hn::GetLane(hn::SumOfLanes(d, sum)) + rest;
}

template <class T>
BackwardKernels<T> backward_table_of() {
  return {backward_keys<T>, backward_rows<T>, only_weights<T>, dot<T>};
}

BackwardTable make_backward_table() { return {backward_table_of<float>(), backward_table_of<double>()}; }

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

const BackwardTable& backward_kernels_for(SimdTarget target) {
  return HEADLIGHT_TABLE_OF(make_backward_table, target);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
