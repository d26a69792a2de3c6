// See bf16_tile.h. Compiled for every SIMD target like the other kernels; empty except for AVX-512.
#include "kernels/bf16_tile.h"

#include "kernels/kernels.h"
#include "kernels/matrix_pack.h"
#include "kernels/matrix_strip.h"
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

// The same on the matrix unit, in groups of rows that are several strips high.
struct MatrixSource {
  static constexpr bool kScaled = false;
  const Tile<float>& tile;
  const StripPlan& plan;

  HWY_ATTR void score() const {
    const int pairs = pairs_of(tile.dim);
    for (int first = 0; first < tile.rows; first += kMatrixRows) {
      const StripRange range = range_of_group(first);
      const int rows = HWY_MIN(kMatrixRows, tile.rows - first);
      set_matrix_rows(rows);
      for (int key = range.begin / kBf16Panel * kBf16Panel; key < range.end; key += kBf16Panel) {
        fetch_ahead();
        multiply_on_matrix_unit({.rows = rows,
                                 .columns = kBf16Panel,
                                 .pairs = pairs,
                                 .a = as_pairs(tile.q) + first * tile.q_stride,
                                 .a_stride = tile.q_stride,
                                 .b = as_pairs(tile.keys) + static_cast<Index>(key) * pairs,
                                 .c = tile.scores + first * tile.scores_stride + key,
                                 .c_stride = tile.scores_stride,
                                 .factor = tile.factor});
      }
    }
    release_matrix_unit();
  }

  HWY_ATTR void add_values(const SoftmaxState<float>& state, const float* alpha) const {
    for (int first = 0; first < tile.rows && tile.value_dim > 0; first += kMatrixRows) {
      const StripRange range = range_of_group(first);
      if (range.begin >= range.end) continue;
      const int rows = HWY_MIN(kMatrixRows, tile.rows - first);
      for (int r = first; r < first + rows; ++r) narrow(r, range);
      set_matrix_rows(rows);
      for (int x = 0; x < tile.value_dim; x += kBf16Panel) {
        const Pair* values = as_pairs(tile.values) + x / kBf16Panel * tile.value_panel_stride;
        fetch_ahead();
        multiply_weights(first, rows, x, values + first_pair(range) * kBf16Panel, range,
                         state.acc + first * state.acc_stride + x, state.acc_stride,
                         alpha == nullptr ? nullptr : alpha + first);
      }
    }
    release_matrix_unit();
  }

  // With zeros in place of values that the row does not see.
  HWY_ATTR void add_values_carefully(int r, const bool* hidden, float alpha, float* acc) const {
    const StripRange range = plan.range[r / kStrip];
    narrow(r, range);
    HWY_ALIGN Pair seen[kMaxTileKeys / 2 * kBf16Panel];
    set_matrix_rows(1);
    for (int x = 0; x < tile.value_dim; x += kBf16Panel) {
      const Pair* values = as_pairs(tile.values) + x / kBf16Panel * tile.value_panel_stride;
      for (int p = first_pair(range); p < end_pair(range); ++p) {
        const Pair keep = (hidden[2 * p] ? 0 : 0xFFFFU) | (hidden[2 * p + 1] ? 0 : 0xFFFF0000U);
        for (int i = 0; i < kBf16Panel; ++i)
          seen[(p - first_pair(range)) * kBf16Panel + i] = values[p * kBf16Panel + i] & keep;
      }
      multiply_weights(r, 1, x, seen, range, acc + x, 0, &alpha);
    }
    release_matrix_unit();
  }

 private:
  // The keys that any row of the group sees.
  [[nodiscard]] HWY_ATTR StripRange range_of_group(int first) const {
    StripRange range{kMaxTileKeys, 0};
    for (int s = first / kStrip; s < HWY_MIN(plan.strips, (first + kMatrixRows) / kStrip); ++s) {
      if (plan.range[s].begin >= plan.range[s].end) continue;
      range.begin = HWY_MIN(range.begin, plan.range[s].begin);
      range.end = HWY_MAX(range.end, plan.range[s].end);
    }
    return range;
  }
  // Steps of the product begin at whole panels of keys.
  [[nodiscard]] static int first_pair(StripRange range) { return range.begin / kBf16Panel * kStepPairs; }
  [[nodiscard]] static int end_pair(StripRange range) { return (range.end + 1) / 2; }

  // The weights become bf16 where they are, with zeros for those keys of the group that the row's strip does not see.
  HWY_ATTR void narrow(int r, StripRange group) const {
    const StripRange range = plan.range[r / kStrip];
    float* row = tile.scores + r * tile.scores_stride;
    auto* bits = reinterpret_cast<std::uint16_t*>(row);
    int from = 2 * first_pair(group), to = from;
    if (range.begin < range.end) {
      const StripRange wide = computed<float>(range);
      narrow_in_place(row, wide.begin, wide.end);
      from = wide.begin;
      to = wide.end;
    }
    for (int j = 2 * first_pair(group); j < from; ++j) bits[j] = 0;
    for (int j = to; j < 2 * end_pair(group); ++j) bits[j] = 0;
  }

  HWY_ATTR void multiply_weights(int first, int rows, int x, const Pair* values, StripRange range, float* acc,
                                 Index acc_stride, const float* alpha) const {
    multiply_on_matrix_unit({.rows = rows,
                             .columns = HWY_MIN(kBf16Panel, tile.value_dim - x),
                             .pairs = end_pair(range) - first_pair(range),
                             .a = as_pairs(tile.scores) + first * tile.scores_stride + first_pair(range),
                             .a_stride = tile.scores_stride,
                             .b = values,
                             .c = acc,
                             .c_stride = acc_stride,
                             .alpha = alpha});
  }

  HWY_ATTR void fetch_ahead() const {
    if (plan.fetches > 0) tile.ahead->fetch(plan.fetches * (kMatrixRows / kStrip));
  }
};

template <class Source>
HWY_ATTR void absorb_with(const Tile<float>& tile, const SoftmaxState<float>& state,
                          const AbsorbOptions<float>& options) {
  absorb_from(tile, state, options, [&](const StripPlan& plan) HWY_ATTR { return Source{tile, plan}; });
}
template <class Source>
HWY_ATTR void weigh_with(const Tile<float>& tile, const float* shift, const float* factor, float* moment) {
  weigh_from(tile, shift, factor, moment, [&](const StripPlan& plan) HWY_ATTR { return Source{tile, plan}; });
}

template <class Source>
AttentionKernels<float> make_table_of() {
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
  table.absorb = absorb_with<Source>;
  table.weigh = weigh_with<Source>;
  return table;
}

AttentionKernels<float> make_bf16_table() { return make_table_of<PairSource>(); }
AttentionKernels<float> make_matrix_table() { return make_table_of<MatrixSource>(); }

#endif

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

const AttentionKernels<float>* matrix_attention_for(SimdTarget target) {
#if defined(__x86_64__) && defined(__linux__)
  if (matrix_kernels_for(target) != nullptr) return &made_once<N_AVX3::make_matrix_table>();
#endif
  static_cast<void>(target);
  return nullptr;
}

const AttentionKernels<float>* bf16_dots_attention_for(SimdTarget target) {
#if defined(__x86_64__) && defined(__linux__)
  static const bool here = has_bf16_dots();
  if (here && target == SimdTarget::avx512) return &made_once<N_AVX3::make_bf16_table>();
#endif
  static_cast<void>(target);
  return nullptr;
}

const AttentionKernels<float>* bf16_attention_for(SimdTarget target) {
  const AttentionKernels<float>* kernels = matrix_attention_for(target);
  return kernels != nullptr ? kernels : bf16_dots_attention_for(target);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
