// The gradient of attention on one tile, compiled once per SIMD target. Legend in backward_tile.h.
#include "kernels/backward_tile.h"

#include "kernels/kernels.h"
#include "kernels/target_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/backward_tile.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/backward_steps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_ATTR void multiply_queries(const BackwardTile<T>& b, const StripPlan& plan) {
  const Tile<T>& tile = b.tile;
  multiply_keys<T>(tile, plan, {tile.q, tile.q_stride, tile.dim, tile.keys, tile.scores});
}

template <class T>
HWY_ATTR void weights(const BackwardTile<T>& b, StripPlan& plan) {
  weigh_tile(b, plan, [&](const StripPlan& strips) HWY_ATTR {
    multiply_queries(b, strips);
    multiply_keys<T>(b.tile, strips, {b.dout, b.dout_stride, b.tile.value_dim, b.value_keys, b.dp});
  });
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

template <class T>
HWY_ATTR void backward_keys(const BackwardTile<T>& b, const BackwardSums<T>& sums) {
  const Tile<T>& tile = b.tile;
  const int lanes = static_cast<int>(hn::Lanes(hn::ScalableTag<T>()));
  const int columns = (tile.dim + lanes - 1) / lanes * lanes,
            value_columns = (tile.value_dim + lanes - 1) / lanes * lanes;
  const KeySums<T> dv{tile.scores, b.dout, b.dout_stride, value_columns, sums.dv, sums.dv_stride};
  const KeySums<T> dk{b.dp, tile.q, tile.q_stride, columns, sums.dk, sums.dk_stride};
  StripPlan plan;
  if (b.careful) {
    find_seen(b, b.seen, [&](const StripPlan& strips) HWY_ATTR { multiply_queries(b, strips); });
  }
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
