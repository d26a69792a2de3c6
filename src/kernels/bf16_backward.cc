// The gradient of attention on one tile in products of bf16; see bf16_tile.h, and backward_tile.h for the legend.
//
// Weights p and score gradients ds are computed in f32 and then rounded, each in the layouts that products read:
// dv and dk sum over rows, so they take pairs of rows; dq sums over keys and takes pairs of keys.
#include <cstring>

#include "kernels/bf16_tile.h"
#include "kernels/matrix_pack.h"
#include "kernels/target_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bf16_backward.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/backward_steps-inl.h"
#include "kernels/bf16_steps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

#if HEADLIGHT_BF16_TARGET

HWY_INLINE void multiply_query_pairs(const BackwardTile<float>& b, const StripPlan& plan) {
  const Tile<float>& tile = b.tile;
  multiply_key_pairs(tile, plan, {tile.q, tile.q_stride, tile.dim, tile.keys, tile.scores}, tile.factor);
}

HWY_ATTR void weigh_bf16_tile(const BackwardTile<float>& b, StripPlan& plan) {
  weigh_tile(b, plan, [&](const StripPlan& strips) HWY_ATTR {
    multiply_query_pairs(b, strips);
    multiply_key_pairs(b.tile, strips, {b.dout, b.dout_stride, b.tile.value_dim, b.value_keys, b.dp}, 1.0F);
  });
}

// Where pair_tile() leaves row r of ds as pairs of keys: both rows of a pair are stored in place of the second.
HWY_INLINE Pair* keys_of_row(const BackwardTile<float>& b, int r) {
  return as_pairs(b.dp) + (r | 1) * b.tile.scores_stride + r % 2 * (b.tile.scores_stride / 2);
}

// Pairs of rows of p and of ds, in place of every even row; and rows of ds as pairs of keys. A last row without a
// partner is paired with zeros: a block has room for an even number of rows.
HWY_ATTR void pair_tile(const BackwardTile<float>& b, const StripPlan& plan) {
  const Tile<float>& tile = b.tile;
  const int from = plan.begin / kBf16Panel * kBf16Panel, to = (plan.end + 15) / 16 * 16;
  HWY_ALIGN Pair even[kMaxTileKeys / 2], odd[kMaxTileKeys / 2];
  for (int r = 0; r < tile.rows; r += 2) {
    const bool both = r + 1 < tile.rows;
    const Index row = r * tile.scores_stride, next = row + tile.scores_stride;
    pair_rows(tile.scores + row, both ? tile.scores + next : nullptr, from, to, nullptr, nullptr);
    pair_rows(b.dp + row, both ? b.dp + next : nullptr, from, to, even, odd);
    const auto bytes = sizeof(float) / 2 * static_cast<std::size_t>(HWY_MAX(0, to - from));
    std::memcpy(keys_of_row(b, r) + from / 2, even + from / 2, bytes);
    std::memcpy(keys_of_row(b, r + 1) + from / 2, odd + from / 2, bytes);
  }
}

// sums[key] += weightsᵀ·rows, for every key that some row sees.
struct PairSums {
  const float* weights;  // pairs of rows
  const float* rows;     // as pairs of columns
  Index stride;
  int columns;
  float* sums;
  Index sums_stride;
};

HWY_ATTR void add_pairs_to_keys(const BackwardTile<float>& b, const StripPlan& plan, const PairSums& k) {
  const Tile<float>& tile = b.tile;
  HWY_ALIGN Pair panel[kMaxRows / 2 * kBf16Panel];
  for (int x = 0; x < k.columns; x += kBf16Panel) {
    const int vectors = k.columns - x > kBf16Panel / 2 ? 2 : 1;
    interleave_rows(as_pairs(k.rows) + x / 2, k.stride, 0, tile.rows, panel);
    for (int key = plan.begin; key < plan.end; key += kStrip) {
      const int keys = HWY_MIN(kStrip, plan.end - key);
      const StripRange rows = rows_seeing(tile, key, keys);
      if (rows.begin >= rows.end) continue;
      const StripRange pairs = pairs_of_range(rows);
      const Pair* weights = as_pairs(k.weights) + Index{pairs.begin} * 2 * tile.scores_stride + key;
      const Pair* right = panel + pairs.begin * kBf16Panel;
      float* to = k.sums + key * k.sums_stride + x;
      if (!b.careful) {
        multiply_pairs_transposed(keys, vectors,
                                  {.pairs = pairs.end - pairs.begin,
                                   .a = weights,
                                   .a_stride = 2 * tile.scores_stride,
                                   .b = right,
                                   .c = to,
                                   .c_stride = k.sums_stride});
        continue;
      }
      for (int i = 0; i < keys * vectors; ++i) {
        const int at = i / vectors, lane = i % vectors * (kBf16Panel / 2);
        multiply_pairs_carefully({.pairs = pairs.end - pairs.begin,
                                  .a = weights + at,
                                  .a_stride = 2 * tile.scores_stride,
                                  .b = right + lane,
                                  .seen = b.seen + Index{pairs.begin} * 2 * kMaxBackwardKeys + key + at,
                                  .seen_stride = kMaxBackwardKeys,
                                  .c = to + at * k.sums_stride + lane});
      }
    }
  }
}

HWY_ATTR void backward_key_pairs(const BackwardTile<float>& b, const BackwardSums<float>& sums) {
  const Tile<float>& tile = b.tile;
  StripPlan plan;
  if (b.careful) {
    // The row after an odd last one is its partner: it sees nothing.
    std::memset(b.seen, 0, std::size_t{kMaxRows} * kMaxBackwardKeys);
    find_seen(b, b.seen, [&](const StripPlan& strips) HWY_ATTR { multiply_query_pairs(b, strips); });
  }
  weigh_bf16_tile(b, plan);
  pair_tile(b, plan);
  add_pairs_to_keys(b, plan, {tile.scores, b.dout, b.dout_stride, tile.value_dim, sums.dv, sums.dv_stride});
  add_pairs_to_keys(b, plan, {b.dp, tile.q, tile.q_stride, tile.dim, sums.dk, sums.dk_stride});
}

HWY_ATTR void backward_row_pairs(const BackwardTile<float>& b, const BackwardSums<float>& sums) {
  const Tile<float>& tile = b.tile;
  StripPlan plan;
  plan_strips(tile, plan);
  HWY_ALIGN float ones[kStrip];
  for (float& one : ones) one = 1;
  for (int x = 0; x < tile.dim; x += kBf16Panel) {
    const Pair* keys = as_pairs(b.key_rows) + x / kBf16Panel * b.key_rows_panel_stride;
    const int vectors = tile.dim - x > kBf16Panel / 2 ? 2 : 1;
    for (int s = 0; s < plan.strips; ++s) {
      if (plan.range[s].begin >= plan.range[s].end) continue;
      const StripRange pairs = pairs_of_range(plan.range[s]);
      const int first = s * kStrip, rows = HWY_MIN(kStrip, tile.rows - first);
      const Pair* right = keys + static_cast<Index>(pairs.begin) * kBf16Panel;
      if (!b.careful) {
        multiply_pairs(rows, vectors,
                       {.pairs = pairs.end - pairs.begin,
                        .a = keys_of_row(b, first) + pairs.begin,
                        .a_stride = tile.scores_stride / 2,
                        .a_two = 2 * tile.scores_stride,
                        .b = right,
                        .c = sums.dq + first * sums.dq_stride + x,
                        .c_stride = sums.dq_stride,
                        .alpha = ones});
        continue;
      }
      for (int i = 0; i < rows * vectors; ++i) {
        const int r = first + i / vectors, lane = i % vectors * (kBf16Panel / 2);
        multiply_pairs_carefully({.pairs = pairs.end - pairs.begin,
                                  .a = keys_of_row(b, r) + pairs.begin,
                                  .b = right + lane,
                                  .seen = b.seen + Index{r} * kMaxBackwardKeys + 2 * pairs.begin,
                                  .c = sums.dq + r * sums.dq_stride + x + lane});
      }
    }
  }
}

BackwardKernels<float> make_bf16_backward() {
  return {backward_key_pairs, backward_row_pairs,
          [](const BackwardTile<float>& b) {
            StripPlan plan;
            weigh_bf16_tile(b, plan);
          },
          [](const float* a, const float* b, int n) { return dot_pairs(as_pairs(a), as_pairs(b), n); }};
}

#endif

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

const BackwardKernels<float>* bf16_backward_for(SimdTarget target) {
#if defined(__x86_64__) && defined(__linux__)
  if (const BackwardKernels<float>* kernels = matrix_backward_for(target)) return kernels;
  static const bool here = has_bf16_dots();
  if (here && target == SimdTarget::avx512) return &made_once<N_AVX3::make_bf16_backward>();
#endif
  static_cast<void>(target);
  return nullptr;
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
