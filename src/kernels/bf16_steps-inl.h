// Steps that the bf16 kernels share, for the one target that has them.

#if defined(HEADLIGHT_KERNELS_BF16_STEPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_BF16_STEPS_INL_H_
#undef HEADLIGHT_KERNELS_BF16_STEPS_INL_H_
#else
#define HEADLIGHT_KERNELS_BF16_STEPS_INL_H_
#endif

#include "kernels/bf16_strip.h"
#include "kernels/tile_steps-inl.h"

#undef HEADLIGHT_BF16_TARGET
#if HWY_TARGET == HWY_AVX3 && defined(__linux__)
#define HEADLIGHT_BF16_TARGET 1
#else
#define HEADLIGHT_BF16_TARGET 0
#endif

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

#if HEADLIGHT_BF16_TARGET
static_assert(kStrip == kBf16Strip);

// Whole pairs of the keys that a strip computes.
HWY_INLINE StripRange pairs_of_range(StripRange range) { return {range.begin / 2, (range.end + 1) / 2}; }

// As multiply_keys(), rows and panels being pairs. The product is multiplied with `factor`.
HWY_INLINE void multiply_key_pairs(const Tile<float>& tile, const StripPlan& plan,
                                   const RowsTimesKeys<float>& product, float factor) {
  const int pairs = pairs_of(product.depth);
  for (int key = plan.begin / kBf16Panel * kBf16Panel; key < plan.end; key += kBf16Panel) {
    const Pair* panel = as_pairs(product.panels) + static_cast<Index>(key) * pairs;
    for (int s = 0; s < plan.strips; ++s) {
      const StripRange range = plan.range[s];
      if (range.end <= key || range.begin >= key + kBf16Panel) continue;
      const int first = s * kStrip;
      if (plan.fetches > 0) tile.ahead->fetch(plan.fetches);
      multiply_pairs(HWY_MIN(kStrip, tile.rows - first), range.end - key > kBf16Panel / 2 ? 2 : 1,
                     {.pairs = pairs,
                      .a = as_pairs(product.rows) + first * product.stride,
                      .a_stride = product.stride,
                      .a_two = 2 * product.stride,
                      .b = panel,
                      .c = product.out + first * tile.scores_stride + key,
                      .c_stride = tile.scores_stride,
                      .factor = factor});
    }
  }
}
#endif

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
