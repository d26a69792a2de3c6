// From q·k to the logit: softcap, then ALiBi, then bias, then the mask. One row of one tile at a time.

#if defined(HEADLIGHT_KERNELS_SCORE_RULES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SCORE_RULES_INL_H_
#undef HEADLIGHT_KERNELS_SCORE_RULES_INL_H_
#else
#define HEADLIGHT_KERNELS_SCORE_RULES_INL_H_
#endif

#include <limits>

#include "kernels/attention_tile.h"
#include "kernels/math-inl.h"
#include "kernels/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Elements of the bias for keys first … first+n-1, as T. A key stride other than one is a broadcast. An
// f64 bias beyond the range of f32 becomes the largest f32: it is finite, so it hides nothing.
template <class T>
HWY_ATTR void fetch_bias(const void* bias, DType type, Index stride, Index first, int n, T* row) {
  const auto* bytes = static_cast<const std::uint8_t*>(bias);
  const auto size = static_cast<Index>(size_of(type));
  if (sizeof(T) == 4 && type == DType::f64) {
    const double* from = static_cast<const double*>(bias) + first * stride;
    constexpr double kMost = std::numeric_limits<T>::max(), kInf = std::numeric_limits<double>::infinity();
    for (int j = 0; j < n; ++j, from += stride) {
      const double x = *from < -kMost && *from != -kInf ? -kMost : *from;
      row[j] = static_cast<T>(x > kMost && x != kInf ? kMost : x);
    }
    return;
  }
  if (stride == 1) return widen_row(bytes + first * size, type, n, row);
  for (int j = 0; j < n; ++j) widen_row(bytes + (first + j) * stride * size, type, 1, row + j);
}

// Only keys begin … end-1 are touched, in the scores as in the bias and the mask.
template <class T>
HWY_ATTR void apply_rules(const ScoreRules<T>& rules, int r, Index first_key, int begin, int end, T* scores) {
  const hn::ScalableTag<T> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const RowRule<T>& row = rules.rows[r];
  const T log2e_units = static_cast<T>(1.44269504088896340736) / rules.logit_unit;
  if (rules.cap > 0) {
    const auto cap = hn::Set(d, rules.cap);
    // Whole vectors from `begin` down to a multiple of the lanes: the row has room on both sides.
    for (int j = begin / lanes * lanes; j < end; j += lanes) {
      hn::Store(hn::Mul(cap, tanh(d, hn::Load(d, scores + j))), d, scores + j);
    }
  }
  if (rules.alibi) {
    const auto slope = hn::Set(d, -row.slope);
    const auto place = hn::Set(d, static_cast<T>(row.position - first_key));
    for (int j = begin / lanes * lanes; j < end; j += lanes) {
      const auto distance = hn::Abs(hn::Sub(place, hn::Iota(d, static_cast<T>(j))));
      hn::Store(hn::MulAdd(slope, distance, hn::Load(d, scores + j)), d, scores + j);
    }
  }
  HWY_ALIGN T bias[kMaxTileKeys];
  if (row.bias != nullptr) {
    fetch_bias(row.bias, rules.bias_type, rules.bias_stride, first_key + begin, end - begin, bias);
    const auto log2e = hn::Set(d, log2e_units);
    int j = 0;
    for (; j + lanes <= end - begin; j += lanes) {
      hn::StoreU(hn::MulAdd(hn::LoadU(d, bias + j), log2e, hn::LoadU(d, scores + begin + j)), d,
                 scores + begin + j);
    }
    // The same fused operation as above: a key's bits must not depend on where its row begins.
    const hn::CappedTag<T, 1> one;
    for (; j < end - begin; ++j) {
      T* s = scores + begin + j;
      hn::StoreU(hn::MulAdd(hn::LoadU(one, bias + j), hn::Set(one, log2e_units), hn::LoadU(one, s)), one, s);
    }
  }
  if (row.mask != nullptr) {
    const std::uint8_t* mask = row.mask + (first_key + begin) * rules.mask_stride;
    for (int j = begin; j < end; ++j, mask += rules.mask_stride) {
      scores[j] = *mask != 0 ? scores[j] : -std::numeric_limits<T>::infinity();
    }
  }
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
