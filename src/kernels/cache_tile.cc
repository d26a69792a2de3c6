// Attention on one tile of a cache, compiled once per SIMD target. See cache_tile.h.
#include "kernels/cache_tile.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/target_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cache_tile.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/absorb-inl.h"
#include "kernels/pack-inl.h"
#include "kernels/stored_strip-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The order in which a tile is read: panels of keys, panels of values, then the next tile.
template <class S>
class Stream {
 public:
  Stream(const Tile<float>& tile, const StripPlan& plan)
      : cache_(*tile.stored),
        value_dim_(tile.value_dim),
        panel_(2 * static_cast<int>(hn::Lanes(FloatTag()))),
        end_((plan.end + panel_ - 1) / panel_ * panel_),
        columns_((tile.value_dim + panel_ - 1) / panel_ * panel_),
        whole_(plan.begin == 0 && plan.end == tile.stored->tile_keys),
        rows_(order_of<S>().whole(tile.dim)) {}

  [[nodiscard]] const S* keys(int key) const {
    return reinterpret_cast<const S*>(cache_.keys) + static_cast<Index>(key) * rows_;
  }
  [[nodiscard]] const S* values(int column) const {
    return reinterpret_cast<const S*>(cache_.values) + static_cast<Index>(column) * cache_.tile_keys;
  }
  // The address kAhead bytes after this panel, for prefetching. In a tile that is used partly, only the beginnings of
  // value panels are read, so there it is the next panel.
  [[nodiscard]] const std::byte* after_keys(int key) const {
    const auto* from = reinterpret_cast<const std::byte*>(keys(key)) + kAhead<S>;
    const auto* end = reinterpret_cast<const std::byte*>(keys(end_));
    if (whole_ || from < end) return linear(from);
    return cache_.values;
  }
  [[nodiscard]] const std::byte* after_values(int column) const {
    if (whole_) return linear(reinterpret_cast<const std::byte*>(values(column)) + kAhead<S>);
    return column + panel_ < value_dim_ ? reinterpret_cast<const std::byte*>(values(column + panel_))
                                        : cache_.next;
  }

 private:
  [[nodiscard]] const std::byte* linear(const std::byte* from) const {
    const auto* end = reinterpret_cast<const std::byte*>(values(columns_));
    return from < end ? from : cache_.next + (from - end);
  }

  const StoredTile& cache_;
  int value_dim_, panel_;
  int end_, columns_;  // up to whole panels
  bool whole_;
  Index rows_;  // of a panel of keys
};

// row = (row · before) · (scales · after): powers of two that int8 needs and that change no bit of the other types.
HWY_INLINE void multiply_row(float* row, StripRange wide, const float* scales, float before, float after) {
  const FloatTag d;
  const auto first = hn::Set(d, before), second = hn::Set(d, after);
  for (int j = wide.begin; j < wide.end; j += static_cast<int>(hn::Lanes(d))) {
    const auto scale = hn::Mul(hn::Load(d, scales + j), second);
    hn::Store(hn::Mul(hn::Mul(hn::Load(d, row + j), first), scale), d, row + j);
  }
}

// Products with keys and values stored as S.
template <class S>
struct StoredProducts {
  const Tile<float>& tile;
  const StripPlan& plan;
  const Stream<S> stream{tile, plan};

  HWY_ATTR void score() const {
    const int lanes = static_cast<int>(hn::Lanes(FloatTag())), panel = 2 * lanes;
    for (int key = plan.begin / panel * panel; key < plan.end; key += panel) {
      const std::byte* ahead = stream.after_keys(key);
      for (int s = 0; s < plan.strips; ++s) {
        const StripRange range = plan.range[s];
        if (range.end <= key || range.begin >= key + panel) continue;
        const int first = s * kStrip;
        multiply_stored_strip<S>(
            HWY_MIN(kStrip, tile.rows - first), range.end - key > lanes ? 2 : 1,
            {0, tile.dim, tile.q + first * tile.q_stride, tile.q_stride, stream.keys(key),
             tile.scores + first * tile.scores_stride + key, tile.scores_stride, nullptr, ahead});
      }
    }
  }

  HWY_ATTR void add_values(const SoftmaxState<float>& state, const float* alpha) const {
    const int lanes = static_cast<int>(hn::Lanes(FloatTag())), panel = 2 * lanes;
    for (int x = 0; x < tile.value_dim; x += panel) {
      const std::byte* ahead = stream.after_values(x);
      for (int s = 0; s < plan.strips; ++s) {
        const StripRange range = plan.range[s];
        if (range.begin >= range.end) continue;
        const int first = s * kStrip;
        multiply_stored_strip<S>(
            HWY_MIN(kStrip, tile.rows - first), tile.value_dim - x > lanes ? 2 : 1,
            {range.begin, range.end, tile.scores + first * tile.scores_stride + range.begin,
             tile.scores_stride, stream.values(x), state.acc + first * state.acc_stride + x, state.acc_stride,
             alpha == nullptr ? nullptr : alpha + first, ahead});
      }
    }
  }

  // One row's P·V that skips every key the row does not see.
  HWY_ATTR void add_values_carefully(int r, const bool* hidden, float alpha, float* acc) const {
    const typename StoredTag<S>::type d;
    const int lanes = static_cast<int>(hn::Lanes(d)), panel = 2 * static_cast<int>(hn::Lanes(FloatTag()));
    const float* row = tile.scores + r * tile.scores_stride;
    for (int x = 0; x < tile.value_dim; x += lanes) {
      const S* values = stream.values(x / panel * panel);
      auto sum = hn::Zero(d);
      for (int j = tile.begin[r]; j < tile.end[r]; ++j) {
        if (!hidden[j])
          sum = hn::MulAdd(hn::Set(d, row[j]), load_stored(d, values, j, x % panel / lanes), sum);
      }
      hn::StoreU(hn::MulAdd(hn::LoadU(d, acc + x), hn::Set(d, alpha), sum), d, acc + x);
    }
  }
};

// The same behind pointers, so that the softmax between the products is compiled once for all types. int8: a key's scale
// multiplies its score, a value's scale its weight. Nothing is rounded to a dequantised f32 on the way.
struct StoredSource {
  static constexpr bool kScaled = true;
  struct Steps {
    bool scaled;
    void (*score)(const Tile<float>& tile, const StripPlan& plan);
    void (*add_values)(const Tile<float>& tile, const StripPlan& plan, const SoftmaxState<float>& state,
                       const float* alpha);
    void (*add_values_carefully)(const Tile<float>& tile, const StripPlan& plan, int r, const bool* hidden,
                                 float alpha, float* acc);
  };
  const Steps& steps;
  const Tile<float>& tile;
  const StripPlan& plan;

  HWY_INLINE void score() const { steps.score(tile, plan); }
  HWY_INLINE void add_values(const SoftmaxState<float>& state, const float* alpha) const {
    steps.add_values(tile, plan, state, alpha);
  }
  HWY_INLINE void add_values_carefully(int r, const bool* hidden, float alpha, float* acc) const {
    steps.add_values_carefully(tile, plan, r, hidden, alpha, acc);
  }
  HWY_INLINE void scale_scores(float* row, StripRange wide) const {
    if (steps.scaled) multiply_row(row, wide, tile.stored->key_scales, kInt8Unit, 1.0F);
  }
  HWY_INLINE void scale_weights(float* row, StripRange wide) const {
    if (steps.scaled) multiply_row(row, wide, tile.stored->value_scales, 1.0F, kInt8Unit);
  }
};

template <class S>
HWY_ATTR void score_stored(const Tile<float>& tile, const StripPlan& plan) {
  StoredProducts<S>{tile, plan}.score();
}
template <class S>
HWY_ATTR void add_stored_values(const Tile<float>& tile, const StripPlan& plan,
                                const SoftmaxState<float>& state, const float* alpha) {
  StoredProducts<S>{tile, plan}.add_values(state, alpha);
}
template <class S>
HWY_ATTR void add_stored_values_carefully(const Tile<float>& tile, const StripPlan& plan, int r,
                                          const bool* hidden, float alpha, float* acc) {
  StoredProducts<S>{tile, plan}.add_values_carefully(r, hidden, alpha, acc);
}
template <class S>
inline constexpr StoredSource::Steps kSteps = {std::is_same_v<S, std::int8_t>, score_stored<S>,
                                               add_stored_values<S>, add_stored_values_carefully<S>};

HWY_NOINLINE HWY_ATTR void absorb_by(const StoredSource::Steps& steps, const Tile<float>& tile,
                                     const SoftmaxState<float>& state, const AbsorbOptions<float>& options) {
  absorb_from(tile, state, options, [&](const StripPlan& plan) HWY_ATTR {
    return StoredSource{steps, tile, plan};
  });
}
HWY_NOINLINE HWY_ATTR void weigh_by(const StoredSource::Steps& steps, const Tile<float>& tile,
                                    const float* shift, const float* factor, float* moment) {
  weigh_from(tile, shift, factor, moment, [&](const StripPlan& plan) HWY_ATTR {
    return StoredSource{steps, tile, plan};
  });
}

template <class S>
HWY_ATTR void absorb_stored(const Tile<float>& tile, const SoftmaxState<float>& state,
                            const AbsorbOptions<float>& options) {
  absorb_by(kSteps<S>, tile, state, options);
}
template <class S>
HWY_ATTR void weigh_stored(const Tile<float>& tile, const float* shift, const float* factor, float* moment) {
  weigh_by(kSteps<S>, tile, shift, factor, moment);
}

// Rounds to nearest even. Scales of tinier rows, times 2^-24, would lose digits.
HWY_ATTR inline void narrow_int8(const float* row, int n, std::int8_t* target, float* scale) {
  float most = 0;
  for (int i = 0; i < n; ++i) {
    const float x = std::fabs(row[i]);
    if (!(x <= most)) most = x;  // NaN stays
    if (std::isnan(most)) break;
  }
  *scale = std::isfinite(most) ? most / 127.0F : std::numeric_limits<float>::quiet_NaN();
  if (most < 0x1p-70F) *scale = 0;
  if (!(*scale > 0)) {
    std::memset(target, 0, static_cast<std::size_t>(n));
    return;
  }
  const float divisor = *scale;
  for (int i = 0; i < n; ++i) {
    const float x = std::nearbyint(row[i] / divisor);
    target[i] = static_cast<std::int8_t>(x > 127.0F ? 127.0F : x < -127.0F ? -127.0F : x);
  }
}

HWY_ATTR void narrow_stored(const float* row, int n, Stored type, void* target, float* scale) {
  switch (type) {
    case Stored::f32: std::memcpy(target, row, sizeof(float) * static_cast<std::size_t>(n)); break;
    case Stored::f16: narrow_row(row, n, DType::f16, target); break;
    case Stored::bf16: narrow_row(row, n, DType::bf16, target); break;
    case Stored::int8: narrow_int8(row, n, static_cast<std::int8_t*>(target), scale); break;
  }
}

HWY_ATTR void widen_stored(const void* source, int n, Stored type, float* row) {
  switch (type) {
    case Stored::f32: std::memcpy(row, source, sizeof(float) * static_cast<std::size_t>(n)); break;
    case Stored::f16: widen_row(source, DType::f16, n, row); break;
    case Stored::bf16: widen_row(source, DType::bf16, n, row); break;
    case Stored::int8:
      for (int i = 0; i < n; ++i) row[i] = static_cast<const std::int8_t*>(source)[i];
      break;
  }
}

CacheKernels make_cache_table() {
  return {{order_of<float>(), order_of<F16>(), order_of<BF16>(), order_of<std::int8_t>()},
          {absorb_stored<float>, absorb_stored<F16>, absorb_stored<BF16>, absorb_stored<std::int8_t>},
          {weigh_stored<float>, weigh_stored<F16>, weigh_stored<BF16>, weigh_stored<std::int8_t>},
          narrow_stored,
          widen_stored};
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

const CacheKernels& cache_kernels_for(SimdTarget target) {
  return HEADLIGHT_TABLE_OF(make_cache_table, target);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
