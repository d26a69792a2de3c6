// Steps that attention's kernels on the matrix unit share.

#if defined(HEADLIGHT_KERNELS_MATRIX_STEPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_MATRIX_STEPS_INL_H_
#undef HEADLIGHT_KERNELS_MATRIX_STEPS_INL_H_
#else
#define HEADLIGHT_KERNELS_MATRIX_STEPS_INL_H_
#endif

#include "kernels/bf16_steps-inl.h"
#include "kernels/matrix_strip.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

#if HEADLIGHT_BF16_TARGET

// Rows of a tile that are multiplied together: several strips.
struct RowGroup {
  int first, rows;
  StripRange range;  // the keys that any of them sees

  RowGroup(const Tile<float>& tile, const StripPlan& plan, int begin)
      : first(begin), rows(HWY_MIN(kMatrixRows, tile.rows - begin)), range{kMaxTileKeys, 0} {
    for (int s = begin / kStrip; s < HWY_MIN(plan.strips, (begin + kMatrixRows) / kStrip); ++s) {
      if (plan.range[s].begin >= plan.range[s].end) continue;
      range.begin = HWY_MIN(range.begin, plan.range[s].begin);
      range.end = HWY_MAX(range.end, plan.range[s].end);
    }
  }
  [[nodiscard]] bool empty() const { return range.begin >= range.end; }
};

// Pairs of keys. Steps of a product begin at whole panels of keys.
HWY_INLINE int first_pair(StripRange range) { return range.begin / kBf16Panel * kStepPairs; }
HWY_INLINE int end_pair(StripRange range) { return (range.end + 1) / 2; }

HWY_INLINE void fetch_for_group(const Tile<float>& tile, const StripPlan& plan) {
  if (plan.fetches > 0) tile.ahead->fetch(plan.fetches * (kMatrixRows / kStrip));
}

// As multiply_keys(), rows and panels being pairs. The product is multiplied with `factor`.
HWY_INLINE void multiply_keys_on_matrix_unit(const Tile<float>& tile, const StripPlan& plan,
                                             const RowsTimesKeys<float>& product, float factor) {
  const int pairs = pairs_of(product.depth);
  for (int first = 0; first < tile.rows; first += kMatrixRows) {
    const RowGroup group(tile, plan, first);
    set_matrix_rows(group.rows);
    for (int key = group.range.begin / kBf16Panel * kBf16Panel; key < group.range.end; key += kBf16Panel) {
      fetch_for_group(tile, plan);
      multiply_on_matrix_unit({.rows = group.rows,
                               .columns = kBf16Panel,
                               .pairs = pairs,
                               .a = as_pairs(product.rows) + first * product.stride,
                               .a_stride = product.stride,
                               .b = as_pairs(product.panels) + static_cast<Index>(key) * pairs,
                               .c = product.out + first * tile.scores_stride + key,
                               .c_stride = tile.scores_stride,
                               .factor = factor});
    }
  }
  release_matrix_unit();
}

// Rows of a panel whose elements of even and odd depth are kept or become zero: keep(i) for element i of the depth.
template <class Keep>
HWY_INLINE void keep_seen(const Pair* panel, int pairs, Pair* kept, const Keep& keep) {
  for (int p = 0; p < pairs; ++p) {
    const Pair mask = (keep(2 * p) ? 0xFFFFU : 0) | (keep(2 * p + 1) ? 0xFFFF0000U : 0);
    for (int i = 0; i < kBf16Panel; ++i) kept[p * kBf16Panel + i] = panel[p * kBf16Panel + i] & mask;
  }
}

#endif

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
