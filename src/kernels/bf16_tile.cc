// See bf16_tile.h. Compiled for every SIMD target like the other kernels; empty except for AVX-512.
#include "kernels/bf16_tile.h"

#include "kernels/kernels.h"
#include "kernels/matrix_pack.h"
#include "kernels/target_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bf16_tile.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/absorb-inl.h"
#include "kernels/matrix_steps-inl.h"

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

  // Rounds the weights to bf16 in place; the sum of a row is that of the f32 weights.
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

// The same on the matrix unit, in groups of rows.
struct MatrixSource {
  static constexpr bool kScaled = false;
  const Tile<float>& tile;
  const StripPlan& plan;

  HWY_ATTR void score() const {
    multiply_keys_on_matrix_unit(tile, plan, {tile.q, tile.q_stride, tile.dim, tile.keys, tile.scores},
                                 tile.factor);
  }

  HWY_ATTR void add_values(const SoftmaxState<float>& state, const float* alpha) const {
    for (int first = 0; first < tile.rows && tile.value_dim > 0; first += kMatrixRows) {
      const RowGroup group(tile, plan, first);
      if (group.empty()) continue;
      for (int r = first; r < first + group.rows; ++r) narrow(r, group.range);
      set_matrix_rows(group.rows);
      for (int x = 0; x < tile.value_dim; x += kBf16Panel) {
        fetch_for_group(tile, plan);
        multiply_weights(group, x, values_of(group.range, x), state.acc + first * state.acc_stride + x,
                         state.acc_stride, alpha == nullptr ? nullptr : alpha + first);
      }
    }
    release_matrix_unit();
  }

  // With zeros in place of values that the row does not see.
  HWY_ATTR void add_values_carefully(int r, const bool* hidden, float alpha, float* acc) const {
    RowGroup row(tile, plan, r);
    row.rows = 1;
    row.range = plan.range[r / kStrip];
    narrow(r, row.range);
    const int begin = first_pair(row.range), pairs = end_pair(row.range) - begin;
    HWY_ALIGN Pair seen[kMaxTileKeys / 2 * kBf16Panel];
    set_matrix_rows(1);
    for (int x = 0; x < tile.value_dim; x += kBf16Panel) {
      keep_seen(values_of(row.range, x), pairs, seen, [&](int i) { return !hidden[2 * begin + i]; });
      multiply_weights(row, x, seen, acc + x, 0, &alpha);
    }
    release_matrix_unit();
  }

 private:
  [[nodiscard]] HWY_ATTR const Pair* values_of(StripRange range, int x) const {
    return as_pairs(tile.values) + x / kBf16Panel * tile.value_panel_stride + first_pair(range) * kBf16Panel;
  }

  // Rounds the weights to bf16 in place, with zeros for those keys of the group that the row's strip does not see.
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

  HWY_ATTR void multiply_weights(const RowGroup& group, int x, const Pair* values, float* acc,
                                 Index acc_stride, const float* alpha) const {
    const int begin = first_pair(group.range);
    multiply_on_matrix_unit({.rows = group.rows,
                             .columns = HWY_MIN(kBf16Panel, tile.value_dim - x),
                             .pairs = end_pair(group.range) - begin,
                             .a = as_pairs(tile.scores) + group.first * tile.scores_stride + begin,
                             .a_stride = tile.scores_stride,
                             .b = values,
                             .c = acc,
                             .c_stride = acc_stride,
                             .alpha = alpha});
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
