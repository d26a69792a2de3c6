// The gradient of attention on one tile on the matrix unit; see bf16_tile.h, and backward_tile.h for the legend.
//
// dv and dk sum over rows: p and ds are turned, so that a row of the left operand is a key, and its pairs are of two rows.
// dq sums over keys: rows of ds become bf16 where they are.
#include <array>
#include <cstring>

#include "kernels/bf16_tile.h"
#include "kernels/matrix_unit.h"
#include "kernels/target_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matrix_backward.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/backward_steps-inl.h"
#include "kernels/matrix_steps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

#if HEADLIGHT_BF16_TARGET

inline constexpr int kRowPairs = kMaxRows / 2;
static_assert(kRowPairs % kStepPairs == 0);

HWY_INLINE void multiply_queries(const BackwardTile<float>& b, const StripPlan& plan) {
  const Tile<float>& tile = b.tile;
  multiply_keys_on_matrix_unit(tile, plan, {tile.q, tile.q_stride, tile.dim, tile.keys, tile.scores},
                               tile.factor);
}

HWY_ATTR void weigh_on_matrix_unit(const BackwardTile<float>& b, StripPlan& plan) {
  weigh_tile(b, plan, [&](const StripPlan& strips) HWY_ATTR {
    multiply_queries(b, strips);
    multiply_keys_on_matrix_unit(b.tile, strips,
                                 {b.dout, b.dout_stride, b.tile.value_dim, b.value_keys, b.dp}, 1);
  });
}

HWY_INLINE const float* ones() {
  HWY_ALIGN static constexpr auto kOnes = [] {
    std::array<float, kMatrixRows> all{};
    for (float& one : all) one = 1;
    return all;
  }();
  return kOnes.data();
}

// sums[key] += weightsᵀ·rows, for every key that some row sees.
struct KeySums {
  const float* weights;
  const float* rows;  // as pairs of columns
  Index stride;
  int columns;
  float* sums;
  Index sums_stride;
};

// What all keys of a tile multiply with: columns x … x+31 of all rows, as pairs of rows.
HWY_INLINE void add_to_key(const BackwardTile<float>& b, const KeySums& k, int key, int x,
                           const Pair* weights, const Pair* panel) {
  HWY_ALIGN Pair seen[kRowPairs * kBf16Panel];
  const int pairs = (b.tile.rows + 1) / 2;
  keep_seen(panel, pairs, seen, [&](int r) { return b.seen[Index{r} * kMaxBackwardKeys + key]; });
  multiply_on_matrix_unit({.rows = 1,
                           .columns = HWY_MIN(kBf16Panel, k.columns - x),
                           .pairs = pairs,
                           .a = weights,
                           .b = seen,
                           .c = k.sums + key * k.sums_stride + x,
                           .alpha = ones()});
}

HWY_ATTR void add_to_keys(const BackwardTile<float>& b, const StripPlan& plan, const KeySums& k) {
  const Tile<float>& tile = b.tile;
  const int pairs = (tile.rows + 1) / 2;
  HWY_ALIGN Pair weights[kMatrixRows * kRowPairs];
  HWY_ALIGN Pair panels[kRowPairs * 8 * kBf16Panel];
  constexpr int kColumns = 8 * kBf16Panel;  // whose panels there is room for
  for (int from = 0; from < k.columns; from += kColumns) {
    const int to = HWY_MIN(k.columns, from + kColumns);
    for (int x = from; x < to; x += kBf16Panel)
      interleave_rows(as_pairs(k.rows) + x / 2, k.stride, 0, tile.rows, panels + (x - from) * kRowPairs);
    for (int key = plan.begin / kBf16Panel * kBf16Panel; key < plan.end; key += kMatrixRows) {
      const int keys = HWY_MIN(kMatrixRows, plan.end - key);
      const StripRange rows = rows_seeing(tile, key, keys);
      if (rows.begin >= rows.end) continue;
      turn_rows(k.weights + key, tile.scores_stride, tile.rows, weights, kRowPairs);
      set_matrix_rows(b.careful ? 1 : keys);
      // Rows that see none of these keys have weights of zero: whole steps of them are left out.
      const int begin = rows.begin / (2 * kStepPairs) * kStepPairs, end = (rows.end + 1) / 2;
      for (int x = from; x < to; x += kBf16Panel) {
        const Pair* panel = panels + (x - from) * kRowPairs;
        if (b.careful) {
          for (int i = 0; i < keys; ++i) add_to_key(b, k, key + i, x, weights + i * kRowPairs, panel);
          continue;
        }
        multiply_on_matrix_unit({.rows = keys,
                                 .columns = HWY_MIN(kBf16Panel, k.columns - x),
                                 .pairs = HWY_MIN(end, pairs) - begin,
                                 .a = weights + begin,
                                 .a_stride = kRowPairs,
                                 .b = panel + begin * kBf16Panel,
                                 .c = k.sums + key * k.sums_stride + x,
                                 .c_stride = k.sums_stride,
                                 .alpha = ones()});
      }
    }
  }
  release_matrix_unit();
}

HWY_ATTR void backward_keys(const BackwardTile<float>& b, const BackwardSums<float>& sums) {
  const Tile<float>& tile = b.tile;
  StripPlan plan;
  if (b.careful) {
    // The row after an odd last one is its partner: it sees nothing.
    std::memset(b.seen, 0, std::size_t{kMaxRows} * kMaxBackwardKeys);
    find_seen(b, b.seen, [&](const StripPlan& strips) HWY_ATTR { multiply_queries(b, strips); });
  }
  weigh_on_matrix_unit(b, plan);
  add_to_keys(b, plan, {tile.scores, b.dout, b.dout_stride, tile.value_dim, sums.dv, sums.dv_stride});
  add_to_keys(b, plan, {b.dp, tile.q, tile.q_stride, tile.dim, sums.dk, sums.dk_stride});
  const int from = plan.begin / kBf16Panel * kBf16Panel, to = (plan.end + 15) / 16 * 16;
  for (int r = 0; r < tile.rows; ++r) narrow_in_place(b.dp + r * tile.scores_stride, from, to);
}

HWY_ATTR void backward_rows(const BackwardTile<float>& b, const BackwardSums<float>& sums) {
  const Tile<float>& tile = b.tile;
  StripPlan plan;
  plan_strips(tile, plan);
  HWY_ALIGN Pair seen[kMaxTileKeys / 2 * kBf16Panel];
  for (int first = 0; first < tile.rows; first += kMatrixRows) {
    const RowGroup group(tile, plan, first);
    if (group.empty()) continue;
    const int begin = first_pair(group.range), pairs = end_pair(group.range) - begin;
    const int at_once = b.careful ? 1 : group.rows;
    set_matrix_rows(at_once);
    for (int x = 0; x < tile.dim; x += kBf16Panel) {
      const Pair* keys = as_pairs(b.key_rows) + x / kBf16Panel * b.key_rows_panel_stride + begin * kBf16Panel;
      for (int r = first; r < first + group.rows; r += at_once) {
        const bool* of_row = b.seen + Index{r} * kMaxBackwardKeys + 2 * begin;
        if (b.careful) keep_seen(keys, pairs, seen, [&](int i) { return of_row[i]; });
        multiply_on_matrix_unit({.rows = at_once,
                                 .columns = HWY_MIN(kBf16Panel, tile.dim - x),
                                 .pairs = pairs,
                                 .a = as_pairs(b.dp) + r * tile.scores_stride + begin,
                                 .a_stride = tile.scores_stride,
                                 .b = b.careful ? seen : keys,
                                 .c = sums.dq + r * sums.dq_stride + x,
                                 .c_stride = sums.dq_stride,
                                 .alpha = ones()});
      }
    }
  }
  release_matrix_unit();
}

BackwardKernels<float> make_matrix_backward() {
  return {backward_keys, backward_rows,
          [](const BackwardTile<float>& b) {
            StripPlan plan;
            weigh_on_matrix_unit(b, plan);
          },
          [](const float* a, const float* b, int n) { return dot_pairs(as_pairs(a), as_pairs(b), n); }};
}

#endif

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

const BackwardKernels<float>* matrix_backward_for(SimdTarget target) {
#if defined(__x86_64__) && defined(__linux__)
  if (matrix_kernels_for(target) != nullptr) return &made_once<N_AVX3::make_matrix_backward>();
#endif
  static_cast<void>(target);
  return nullptr;
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
