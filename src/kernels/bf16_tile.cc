// See bf16_tile.h. Compiled for every SIMD target as the other kernels are; only AVX-512 has anything to compile.
#include "kernels/bf16_tile.h"

#include "kernels/kernels.h"
#include "kernels/matrix_pack.h"
#include "kernels/target_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bf16_tile.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/absorb-inl.h"
#include "kernels/bf16_steps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

#if HEADLIGHT_BF16_TARGET

struct PairSource {
  static constexpr bool kScaled = false;
  const Tile<float>& tile;
  const StripPlan& plan;

  HWY_ATTR void score() const {
    multiply_key_pairs(tile, plan, {tile.q, tile.q_stride, tile.dim, tile.keys, tile.scores}, tile.factor);
  }

  // The weights become bf16 where they are: the sum of a row is that of the f32 weights.
  HWY_ATTR void add_values(const SoftmaxState<float>& state, const float* alpha) const {
    for (int r = 0; r < tile.rows && tile.value_dim > 0; ++r) {
      const StripRange range = plan.range[r / kStrip], wide = computed<float>(range);
      if (range.begin < range.end)
        narrow_in_place(tile.scores + r * tile.scores_stride, wide.begin, wide.end);
    }
    for (int x = 0; x < tile.value_dim; x += kBf16Panel) {
      const Pair* values = as_pairs(tile.values) + x / kBf16Panel * tile.value_panel_stride;
      for (int s = 0; s < plan.strips; ++s) {
        if (plan.range[s].begin >= plan.range[s].end) continue;
        const StripRange pairs = pairs_of_range(plan.range[s]);
        const int first = s * kStrip;
        if (plan.fetches > 0) tile.ahead->fetch(plan.fetches);
        multiply_pairs(HWY_MIN(kStrip, tile.rows - first), tile.value_dim - x > kBf16Panel / 2 ? 2 : 1,
                       {.pairs = pairs.end - pairs.begin,
                        .a = as_pairs(tile.scores) + first * tile.scores_stride + pairs.begin,
                        .a_stride = tile.scores_stride,
                        .a_two = 2 * tile.scores_stride,
                        .b = values + static_cast<Index>(pairs.begin) * kBf16Panel,
                        .c = state.acc + first * state.acc_stride + x,
                        .c_stride = state.acc_stride,
                        .alpha = alpha == nullptr ? nullptr : alpha + first});
      }
    }
  }

  HWY_ATTR void add_values_carefully(int r, const bool* hidden, float alpha, float* acc) const {
    const StripRange wide = computed<float>(plan.range[r / kStrip]);
    bool seen[kMaxTileKeys];
    for (int j = wide.begin; j < wide.end; ++j) seen[j] = !hidden[j];
    float* row = tile.scores + r * tile.scores_stride;
    narrow_in_place(row, wide.begin, wide.end);
    const StripRange pairs = pairs_of_range(plan.range[r / kStrip]);
    for (int x = 0; x < tile.value_dim; x += kBf16Panel / 2) {
      const Pair* values = as_pairs(tile.values) + x / kBf16Panel * tile.value_panel_stride + x % kBf16Panel;
      multiply_pairs_carefully({.pairs = pairs.end - pairs.begin,
                                .a = as_pairs(row) + pairs.begin,
                                .b = values + static_cast<Index>(pairs.begin) * kBf16Panel,
                                .seen = seen + 2 * pairs.begin,
                                .c = acc + x,
                                .alpha = alpha});
    }
  }
};

HWY_ATTR void absorb_pairs(const Tile<float>& tile, const SoftmaxState<float>& state,
                           const AbsorbOptions<float>& options) {
  absorb_from(tile, state, options, [&](const StripPlan& plan) HWY_ATTR { return PairSource{tile, plan}; });
}
HWY_ATTR void weigh_pairs(const Tile<float>& tile, const float* shift, const float* factor, float* moment) {
  weigh_from(tile, shift, factor, moment, [&](const StripPlan& plan) HWY_ATTR {
    return PairSource{tile, plan};
  });
}

AttentionKernels<float> make_bf16_table() {
  AttentionKernels<float> table = kernels_for(SimdTarget::avx512).f32;
  table.plain_rows = true;
  table.load_row = [](const void* source, DType type, int n, float /*factor*/, float* row) {
    load_pairs(source, type, n, as_pairs(row));
  };
  table.pack_keys = [](const void* source, DType type, Index stride, int keys, int dim, float* panels) {
    pack_key_pairs(source, type, stride, keys, dim, as_pairs(panels));
  };
  table.pack_values = [](const void* source, DType type, Index stride, int keys, int dim, float* panels) {
    pack_value_pairs(source, type, stride, keys, dim, as_pairs(panels));
  };
  table.absorb = absorb_pairs;
  table.weigh = weigh_pairs;
  return table;
}

#endif

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

const AttentionKernels<float>* bf16_attention_for(SimdTarget target) {
#if defined(__x86_64__) && defined(__linux__)
  static const bool here = has_bf16_dots();
  if (here && target == SimdTarget::avx512) return &made_once<N_AVX3::make_bf16_table>();
#endif
  static_cast<void>(target);
  return nullptr;
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
