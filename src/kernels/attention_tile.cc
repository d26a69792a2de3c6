// Attention on one tile, compiled once per SIMD target. See attention_tile.h for the legend.
#include "kernels/attention_tile.h"

#include "kernels/kernels.h"
#include "kernels/target_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention_tile.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/absorb-inl.h"
#include "kernels/math-inl.h"
#include "kernels/pack-inl.h"
#include "kernels/softmax-inl.h"
#include "kernels/strip-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Keys and values that were packed for the call, or values where the caller has them.
template <class T>
struct PackedSource {
  static constexpr bool kScaled = false;
  const Tile<T>& tile;
  const StripPlan& plan;

  HWY_ATTR void score() const {
    multiply_keys<T>(tile, plan, {tile.q, tile.q_stride, tile.dim, tile.keys, tile.scores});
  }

  HWY_ATTR void add_values(const SoftmaxState<T>& state, const T* alpha) const {
    const int lanes = static_cast<int>(hn::Lanes(hn::ScalableTag<T>())), panel = 2 * lanes;
    for (int x = 0; x < tile.value_dim; x += panel) {
      const T* values = tile.values + x / panel * tile.value_panel_stride;
      for (int s = 0; s < plan.strips; ++s) {
        const StripRange range = plan.range[s];
        if (range.begin >= range.end) continue;
        const int first = s * kStrip;
        const int rows = HWY_MIN(kStrip, tile.rows - first), vectors = tile.value_dim - x > lanes ? 2 : 1;
        if (plan.fetches > 0) tile.ahead->fetch(plan.fetches);
        multiply_strip<T>(rows, vectors,
                          {range.end - range.begin, tile.scores + first * tile.scores_stride + range.begin,
                           tile.scores_stride, values + range.begin * tile.value_stride, tile.value_stride,
                           state.acc + first * state.acc_stride + x, state.acc_stride,
                           alpha == nullptr ? nullptr : alpha + first});
      }
    }
  }

  // One row's P·V that skips every key the row does not see.
  HWY_ATTR void add_values_carefully(int r, const bool* hidden, T alpha, T* acc) const {
    const hn::ScalableTag<T> d;
    const int lanes = static_cast<int>(hn::Lanes(d)), panel = 2 * lanes;
    const T* row = tile.scores + r * tile.scores_stride;
    for (int x = 0; x < tile.value_dim; x += lanes) {
      const T* values = tile.values + x / panel * tile.value_panel_stride + x % panel;
      auto sum = hn::Zero(d);
      for (int j = tile.begin[r]; j < tile.end[r]; ++j) {
        if (!hidden[j])
          sum = hn::MulAdd(hn::Set(d, row[j]), hn::LoadU(d, values + j * tile.value_stride), sum);
      }
      hn::StoreU(hn::MulAdd(hn::LoadU(d, acc + x), hn::Set(d, alpha), sum), d, acc + x);
    }
  }
};

template <class T>
HWY_ATTR void absorb(const Tile<T>& tile, const SoftmaxState<T>& state, const AbsorbOptions<T>& options) {
  absorb_from(tile, state, options, [&](const StripPlan& plan) HWY_ATTR {
    return PackedSource<T>{tile, plan};
  });
}
template <class T>
HWY_ATTR void weigh(const Tile<T>& tile, const T* shift, const T* factor, T* moment) {
  weigh_from(tile, shift, factor, moment, [&](const StripPlan& plan) HWY_ATTR {
    return PackedSource<T>{tile, plan};
  });
}

template <class T>
HWY_ATTR void weigh_kept(T* logits, Index n, T logit_unit, T shift, T factor) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const auto top = hn::Set(d, shift), bits = hn::Set(d, logit_unit), scale = hn::Set(d, factor);
  Index j = 0;
  for (; j + lanes <= n; j += lanes) {
    const auto s = hn::LoadU(d, logits + j);
    const auto w = hn::Mul(exp2(d, hn::Mul(hn::Sub(s, top), bits)), scale);
    hn::StoreU(hn::IfThenZeroElse(hn::Eq(s, hn::Set(d, kHidden<T>)), w), d, logits + j);
  }
  const hn::CappedTag<T, 1> one;
  for (; j < n; ++j) {
    const auto x =
        hn::Mul(hn::Sub(hn::LoadU(one, logits + j), hn::Set(one, shift)), hn::Set(one, logit_unit));
    const auto w = hn::Mul(exp2(one, x), hn::Set(one, factor));
    if (logits[j] == kHidden<T>) logits[j] = 0;  // also in a row of NaN
    else hn::StoreU(w, one, logits + j);
  }
}

template <class T>
HWY_ATTR void merge(const SoftmaxState<T>& state, const SoftmaxState<T>& other, T logit_unit, int rows,
                    int value_dim) {
  const hn::ScalableTag<T> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  HWY_ALIGN T shift[kMaxRows], mine[kMaxRows], theirs[kMaxRows];
  raise_max(rows, logit_unit, other.max, state.max, shift, mine);
  for (int r = 0; r < rows; r += lanes) {
    const auto below = hn::Sub(hn::Load(d, other.max + r), hn::Load(d, shift + r));
    hn::Store(exp2(d, hn::Mul(below, hn::Set(d, logit_unit))), d, theirs + r);
  }
  for (int r = 0; r < rows; ++r) {
    state.sum[r] = state.sum[r] * mine[r] + other.sum[r] * theirs[r];
    const auto a = hn::Set(d, mine[r]), b = hn::Set(d, theirs[r]);
    T* acc = state.acc + r * state.acc_stride;
    const T* add = other.acc + r * other.acc_stride;
    for (int x = 0; x < value_dim; x += lanes) {
      hn::Store(hn::MulAdd(hn::Load(d, acc + x), a, hn::Mul(hn::Load(d, add + x), b)), d, acc + x);
    }
  }
}

template <class T>
HWY_ATTR void exp2_row(const T* x, Index n, T* y) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const hn::CappedTag<T, 1> one;
  Index i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(exp2(d, hn::LoadU(d, x + i)), d, y + i);
  for (; i < n; ++i) hn::StoreU(exp2(one, hn::LoadU(one, x + i)), one, y + i);
}

template <class T>
HWY_ATTR void tanh_row(const T* x, Index n, T* y) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const hn::CappedTag<T, 1> one;
  Index i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(tanh(d, hn::LoadU(d, x + i)), d, y + i);
  for (; i < n; ++i) hn::StoreU(tanh(one, hn::LoadU(one, x + i)), one, y + i);
}

template <class T>
AttentionKernels<T> table_of() {
  const int lanes = static_cast<int>(hn::Lanes(hn::ScalableTag<T>()));
  return {lanes,        2 * lanes, kStrip,   false,         pack_keys<T>, pack_values<T>, load_row<T>,
          store_row<T>, absorb<T>, weigh<T>, weigh_kept<T>, merge<T>,     exp2_row<T>,    tanh_row<T>};
}

KernelTable make_table() { return {table_of<float>(), table_of<double>()}; }

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

const KernelTable& kernels_for(SimdTarget target) { return HEADLIGHT_TABLE_OF(make_table, target); }

}  // namespace headlight::kernels
#endif  // HWY_ONCE
