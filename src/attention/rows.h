// From the softmax state of a row to the requested outputs.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/block.h"

namespace headlight {

// A finished row: weight of key j = exp2((logit_j - shift)·logit_unit)·factor.
template <class T>
struct RowScale {
  T shift, factor;
  T sink_weight;
  double lse;  // nats, the sink included
  double max;  // nats, keys only

  [[nodiscard]] static constexpr RowScale empty() {
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    return {T{0}, T{0}, T{0}, kNone, kNone};
  }
};

inline constexpr double kLn2 = 0.69314718055994530942;
inline constexpr double kLog2E = 1.4426950408889634074;

// `sink` in nats; -inf: none. The logarithm is computed only on request. A row that saw no key has sum 0 and stays the
// identity of merge().
template <class T>
[[nodiscard]] RowScale<T> row_scale(T max, T sum, T logit_unit, double sink, bool with_lse) {
  RowScale<T> scale = RowScale<T>::empty();
  const bool empty = sum == 0;
  const double m = static_cast<double>(max) * static_cast<double>(logit_unit), l = sum;
  if (!with_lse && sum > 0 && sink == -std::numeric_limits<double>::infinity()) {  // most rows of most calls
    scale.shift = max;
    scale.factor = static_cast<T>(1 / l);
    scale.max = m * kLn2;
    return scale;
  }
  double top = empty ? -std::numeric_limits<double>::infinity() : m;
  double total = empty ? 0 : l, keys_share = 1;
  const double sink2 = sink * kLog2E;
  if (sink2 != -std::numeric_limits<double>::infinity()) {
    top = empty ? sink2 : std::max(m, sink2);
    keys_share = empty ? 0 : std::exp2(m - top);
    const double sink_share = std::exp2(sink2 - top);
    total = (empty ? 0 : l * keys_share) + sink_share;
    scale.sink_weight = static_cast<T>(sink_share / total);
  }
  if (total == 0) return scale;
  // The largest logit of a row of NaN can be -inf, which would later be taken for a row that sees no key.
  scale.shift = empty ? T{0} : std::isnan(l) ? sum : max;
  scale.factor = empty ? T{0} : static_cast<T>(keys_share / total);
  if (with_lse) scale.lse = (top + std::log2(total)) * kLn2;
  // A NaN or +inf among the logits makes the whole row NaN, and also its largest logit.
  scale.max = std::isnan(l) ? l : empty ? scale.max : m * kLn2;
  return scale;
}

// Whether a stored lse is too large to recompute weights from it: exp(score - lse) is off by |lse|·u.
[[nodiscard]] inline bool lse_is_coarse(double lse) {
  constexpr double kMost = 0x1p10;
  return std::abs(lse) > kMost && std::isfinite(lse);
}

// Element [batch, head, token] of a statistic, or of lse.
[[nodiscard]] inline Index statistic_offset(const ConstTensorView& view, const Sequence& sequence, Index head,
                                            Index query) {
  return row_offset(view, sequence.batch, head, sequence.q_start + query);
}

// The rows' own softmax sums over all keys they see, without values: total.max and total.sum, cut into segments and
// merged as by the forward pass, so with its bits. source_for(range) gives `step` keys at a time.
template <class T, class SourceFor>
void sum_rows(const Block<T>& block, const Workspace<T>& space, Index step, const SourceFor& source_for,
              const kernels::SoftmaxState<T>& total) {
  std::fill(total.max, total.max + kBlockRows, -std::numeric_limits<T>::infinity());
  std::fill(total.sum, total.sum + kBlockRows, T{0});
  alignas(64) T max[kBlockRows], sum[kBlockRows];
  const kernels::SoftmaxState<T> part{max, sum, sum, 0};
  bool first = true;
  for_each_segment(block, [&](Range segment) {
    kernels::AbsorbOptions<T> how{.fresh = true};
    for (Index begin = segment.begin; begin < segment.end; begin += step) {
      const Range range{begin, std::min(begin + step, segment.end)};
      if (range.end <= block.all_keys.begin) continue;
      block.for_each_tile(range, source_for(range), space, [&](kernels::Tile<T> tile) {
        tile.value_dim = 0;
        block.kernels.absorb(tile, first ? total : part, how);
        how.fresh = false;
      });
    }
    if (!first) block.kernels.merge(total, part, block.rules.logit_unit, block.rows, 0);
    first = false;
  });
}

// How the weights of a block's rows are computed from lse.
enum class ScaleFrom {
  lse,  // weight = exp(score - lse), off by |lse|·u: enough for a gradient
  sum  // the rows are summed again; where lse is that of their own sum, weights have the bits of the forward pass
};

// The scales of a block's rows from lse. An lse that differs from the rows' own covers further keys. A bias can make lse
// too large to compute weights from it: such rows are always summed again.
template <class T, class SourceFor>
void scales_from_lse(const Block<T>& block, const ConstTensorView& lse, const Workspace<T>& space, Index step,
                     const SourceFor& source_for, RowScale<T>* scale, ScaleFrom from) {
  constexpr double kNone = -std::numeric_limits<double>::infinity(),
                   kAlike = sizeof(T) == 4 ? 0x1p-20 : 0x1p-48;
  const Problem& problem = block.problem;
  const ConstTensorView& sinks = problem.options->sinks;
  const auto coarse = [&](double x) { return problem.bias.data != nullptr && lse_is_coarse(x); };
  bool again = from == ScaleFrom::sum;
  for (int r = 0; r < block.rows; ++r) {
    const double x = static_cast<double>(
        lse.as<T>()[statistic_offset(lse, block.unit.sequence, block.head[r], block.query[r])]);
    scale[r] = RowScale<T>::empty();
    scale[r].lse = x;
    scale[r].shift = static_cast<T>(x * kLog2E / problem.logit_unit());
    // x - x is 0, or NaN for a row of NaN, whose factor is NaN.
    scale[r].factor = x == kNone ? T{0} : static_cast<T>(x - x + 1);
    if (!sinks.empty() && scale[r].factor != 0)
      scale[r].sink_weight = static_cast<T>(std::exp(sinks.at(block.head[r]) - x));
    again |= coarse(x);
  }
  if (!again) return;
  alignas(64) T max[kBlockRows], sum[kBlockRows];
  sum_rows(block, space, step, source_for, kernels::SoftmaxState<T>{max, sum, sum, 0});
  for (int r = 0; r < block.rows; ++r) {
    const bool real = block.query[r] < block.unit.sequence.q_len;
    const double x = scale[r].lse, sink = sinks.empty() || !real ? kNone : sinks.at(block.head[r]);
    RowScale<T> own = row_scale(max[r], sum[r], block.rules.logit_unit, sink, true);
    const bool same = static_cast<T>(own.lse) == static_cast<T>(x);
    if ((same && from == ScaleFrom::sum) || (coarse(x) && block.keys[r].size() > 0)) {
      if (!same && std::abs(own.lse - x) > kAlike * std::abs(x))
        own.factor = static_cast<T>(static_cast<double>(own.factor) * std::exp(own.lse - x));
      own.lse = x;
      scale[r] = own;
    }
    scale[r].max = own.max;
  }
}

}  // namespace headlight
