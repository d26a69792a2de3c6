// Steps that the tile kernels share: selecting the keys that a strip computes, products with packed keys, and the
// conversion of q·k to logits.

#if defined(HEADLIGHT_KERNELS_TILE_STEPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_TILE_STEPS_INL_H_
#undef HEADLIGHT_KERNELS_TILE_STEPS_INL_H_
#else
#define HEADLIGHT_KERNELS_TILE_STEPS_INL_H_
#endif

#include <limits>

#include "kernels/attention_tile.h"
#include "kernels/score_rules-inl.h"
#include "kernels/strip-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
inline constexpr T kHidden = -std::numeric_limits<T>::infinity();

// The keys visible to any row of a strip, which must be computed.
struct StripRange {
  int begin, end;
};

template <class T>
HWY_INLINE StripRange strip_range(const Tile<T>& tile, int first, int rows) {
  StripRange range{kMaxTileKeys, 0};
  for (int r = first; r < first + rows; ++r) {
    if (tile.begin[r] >= tile.end[r]) continue;
    range.begin = HWY_MIN(range.begin, tile.begin[r]);
    range.end = HWY_MAX(range.end, tile.end[r]);
  }
  return range;
}

struct StripPlan {
  int strips;
  int fetches;     // rows to fetch ahead with every product of a strip
  int begin, end;  // of all strips together
  StripRange range[kMaxRows];
};

// Which keys each strip of rows has to compute.
template <class T>
HWY_INLINE void plan_strips(const Tile<T>& tile, StripPlan& plan) {
  plan.strips = (tile.rows + kStrip - 1) / kStrip;
  plan.begin = kMaxTileKeys;
  plan.end = 0;
  for (int s = 0; s < plan.strips; ++s) {
    plan.range[s] = strip_range(tile, s * kStrip, HWY_MIN(kStrip, tile.rows - s * kStrip));
    plan.begin = HWY_MIN(plan.begin, plan.range[s].begin);
    plan.end = HWY_MAX(plan.end, plan.range[s].end);
  }
  plan.fetches = 0;
  if (tile.ahead != nullptr && plan.strips > 0) {
    const int panel = 2 * static_cast<int>(hn::Lanes(hn::ScalableTag<T>()));
    const int products =
        plan.strips * ((plan.end + panel - 1) / panel + (tile.value_dim + panel - 1) / panel);
    plan.fetches = tile.ahead->rows() / HWY_MAX(1, products) + 1;
  }
}

// Left-hand rows times packed panels of keys: q·kᵀ, or in backward dout·vᵀ.
template <class T>
struct RowsTimesKeys {
  const T* rows;
  Index stride;
  int depth;
  const T* panels;
  T* out;  // [rows][tile.scores_stride]
};

// Panel by panel: a panel of keys stays in the first cache while all strips use it.
template <class T>
HWY_ATTR void multiply_keys(const Tile<T>& tile, const StripPlan& plan, const RowsTimesKeys<T>& product) {
  const int lanes = static_cast<int>(hn::Lanes(hn::ScalableTag<T>())), panel = 2 * lanes;
  for (int key = plan.begin / panel * panel; key < plan.end; key += panel) {
    for (int s = 0; s < plan.strips; ++s) {
      const StripRange range = plan.range[s];
      if (range.end <= key || range.begin >= key + panel) continue;
      const int first = s * kStrip;
      if (plan.fetches > 0) tile.ahead->fetch(plan.fetches);
      multiply_strip<T>(HWY_MIN(kStrip, tile.rows - first), range.end - key > lanes ? 2 : 1,
                        {product.depth, product.rows + first * product.stride, product.stride,
                         product.panels + static_cast<Index>(key) * product.depth, panel,
                         product.out + first * tile.scores_stride + key, tile.scores_stride, nullptr});
    }
  }
}

// The part of a row that its strip computed, in whole vectors and from a whole panel on.
template <class T>
HWY_INLINE StripRange computed(StripRange range) {
  const int lanes = static_cast<int>(hn::Lanes(hn::ScalableTag<T>()));
  return {range.begin / (2 * lanes) * (2 * lanes), (range.end + lanes - 1) / lanes * lanes};
}

// Hides the scores of a row outside [begin, end) and returns the largest score. One
// pass over whole vectors: a load that follows a narrower store would have to wait for it.
template <class T>
HWY_INLINE T trim(T* row, StripRange wide, int begin, int end) {
  const hn::ScalableTag<T> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto hidden = hn::Set(d, kHidden<T>);
  const auto from = hn::Set(d, static_cast<T>(begin)), to = hn::Set(d, static_cast<T>(end));
  auto top = hidden, top2 = hidden;
  int j = wide.begin;
  const auto one = [&](auto& most) HWY_ATTR {
    auto s = hn::Load(d, row + j);
    if (j < begin || j + lanes > end) {
      const auto at = hn::Iota(d, static_cast<T>(j));
      s = hn::IfThenElse(hn::And(hn::Ge(at, from), hn::Lt(at, to)), s, hidden);
      hn::Store(s, d, row + j);
    }
    most = hn::Max(most, s);
    j += lanes;
  };
  while (j + 2 * lanes <= wide.end) {
    one(top);
    one(top2);
  }
  if (j < wide.end) one(top);
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(top, top2)));
}

// From q·k to logits: the score rules for what row r sees, -inf for the rest of what its strip
// computed. Returns the largest logit.
template <class T>
HWY_INLINE T finish_scores(const Tile<T>& tile, int r, StripRange wide, T* row) {
  const int begin = tile.begin[r], end = HWY_MAX(tile.begin[r], tile.end[r]);
  if (tile.rules.any() && begin < end) apply_rules(tile.rules, r, tile.first_key, begin, end, row);
  return trim(row, wide, begin, end);
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
