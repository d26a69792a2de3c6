// Statistics of finished rows: a second sweep over the keys that recomputes the weights tile by tile.
// It runs after the output is written and cannot change it.
#pragma once

#include <algorithm>
#include <new>
#include <type_traits>

#include "attention/block.h"
#include "attention/rows.h"

namespace headlight {

[[nodiscard]] inline bool wants_row_statistics(const AttentionOutputs& outputs) {
  return !outputs.entropy.empty() || !outputs.topk_index.empty() || !outputs.topk_weight.empty();
}

// Scales of finished rows, kept for a later pass: [sequence, head, query], two T each.
template <class T>
struct ScaleTable {
  T* data = nullptr;
  Index heads = 0, queries = 0;

  [[nodiscard]] T* at(Index sequence, Index head, Index query) const {
    return data + 2 * ((sequence * heads + head) * queries + query);
  }
  [[nodiscard]] static ScaleTable reserve(Context& ctx, const Problem& problem) {
    const Index rows = problem.sequences * problem.q_heads * problem.q_longest;
    auto* memory =
        reinterpret_cast<T*>(ctx.scratch(Context::kRows, static_cast<std::size_t>(rows) * 2 * sizeof(T)));
    return {memory, problem.q_heads, problem.q_longest};
  }
};

// Statistics that follow from the scale of a finished row alone.
template <class T>
[[gnu::always_inline]] inline void write_scale(const Block<T>& block, int r, const RowScale<T>& scale,
                                               const AttentionOutputs& outputs, const ScaleTable<T>& scales) {
  const Sequence& sequence = block.unit.sequence;
  const auto put = [&](const TensorView& view, double x) {
    if (!view.empty())
      view.as<T>()[statistic_offset(view, sequence, block.head[r], block.query[r])] = static_cast<T>(x);
  };
  put(outputs.lse, scale.lse);
  put(outputs.max, scale.max);
  put(outputs.sink_weight, static_cast<double>(scale.sink_weight));
  if (scales.data == nullptr) return;
  T* row = scales.at(sequence.item, block.head[r], block.query[r]);
  row[0] = scale.shift;
  row[1] = scale.factor;
}

// The top keys of a row so far, largest weight first; of equal weights the earlier key.
template <class T>
class TopKeys {
 public:
  static constexpr int kMost = 32;
  explicit TopKeys(Index k) : wanted_(static_cast<int>(k)) {}
  TopKeys() = default;

  void offer(T weight, Index key) {
    if (count_ == wanted_ && (wanted_ == 0 || !(weight > weights_[count_ - 1]))) return;
    int at = count_ < wanted_ ? count_++ : count_ - 1;
    for (; at > 0 && weight > weights_[at - 1]; --at) {
      weights_[at] = weights_[at - 1];
      keys_[at] = keys_[at - 1];
    }
    weights_[at] = weight;
    keys_[at] = key;
  }
  // A row of NaN has no order: no keys, and NaN as weights.
  void invalidate() {
    count_ = 0;
    spoilt_ = true;
  }
  [[nodiscard]] T weight(int i) const {
    return i < count_ ? weights_[i] : spoilt_ ? std::numeric_limits<T>::quiet_NaN() : T{0};
  }
  [[nodiscard]] Index key(int i) const { return i < count_ ? keys_[i] : -1; }

 private:
  int wanted_ = 0, count_ = 0;
  bool spoilt_ = false;
  T weights_[kMost] = {};
  Index keys_[kMost] = {};
};

// Entropy in nats from sum w·(s - shift) in base 2: -sum w·ln(w) with w = exp2(s - shift)·factor.
template <class T>
[[nodiscard]] double entropy_of(const RowScale<T>& scale, double moment) {
  const double f = scale.factor, sink = scale.sink_weight;
  if (f == 0 && sink == 0) return 0;
  double entropy = -moment * kLn2;
  if (f > 0) entropy -= (1 - sink) * std::log(f);
  if (sink > 0) entropy -= sink * std::log(sink);
  if (std::isnan(f)) return f;
  return std::max(0.0, entropy);
}

template <class T>
void write_row_statistics(const Block<T>& block, int r, const RowScale<T>& scale, double moment,
                          const TopKeys<T>& top, const AttentionOutputs& outputs) {
  const auto at = [&](const TensorView& view) {
    return statistic_offset(view, block.unit.sequence, block.head[r], block.query[r]);
  };
  if (!outputs.entropy.empty()) {
    outputs.entropy.as<T>()[at(outputs.entropy)] = static_cast<T>(entropy_of(scale, moment));
  }
  const TensorView& index = outputs.topk_index;
  const TensorView& weight = outputs.topk_weight;
  if (!index.empty()) {
    for (int i = 0; i < index.dim(3); ++i) index.as<Index>()[at(index) + i * index.stride(3)] = top.key(i);
  }
  if (!weight.empty()) {
    for (int i = 0; i < weight.dim(3); ++i) weight.as<T>()[at(weight) + i * weight.stride(3)] = top.weight(i);
  }
}

// Entropy and top keys of every row of the block. source_for(range) gives the packed keys.
template <class T, class SourceFor>
void row_statistics(const Block<T>& block, const Workspace<T>& space, const SourceFor& source_for,
                    const RowScale<T>* scale, const AttentionOutputs& outputs) {
  const Index k = !outputs.topk_index.empty()    ? outputs.topk_index.dim(3)
                  : !outputs.topk_weight.empty() ? outputs.topk_weight.dim(3)
                                                 : 0;
  T shift[kBlockRows], factor[kBlockRows], moment[kBlockRows];
  double moments[kBlockRows] = {};
  // On the heap: too large for small thread stacks.
  static_assert(sizeof(TopKeys<T>) <= Workspace<T>::kNoteBytes &&
                std::is_trivially_destructible_v<TopKeys<T>>);
  auto* top = reinterpret_cast<TopKeys<T>*>(space.notes);
  for (int r = 0; r < block.rows; ++r) {
    shift[r] = scale[r].shift;
    factor[r] = scale[r].factor;
    new (&top[r]) TopKeys<T>(k);
  }
  for_each_segment(block, [&](Range range) {
    block.for_each_tile(range, source_for(range), space, [&](const kernels::Tile<T>& tile) {
      std::fill(moment, moment + kBlockRows, T{0});
      block.kernels.weigh(tile, shift, factor, moment);
      for (int r = 0; r < block.rows; ++r) {
        if (tile.begin[r] >= tile.end[r]) continue;
        moments[r] += moment[r];
        const T* row = tile.scores + r * tile.scores_stride;
        for (int j = tile.begin[r]; k > 0 && j < tile.end[r]; ++j) {
          if (!(row[j] < 0)) top[r].offer(row[j], tile.first_key + j);
        }
      }
    });
  });
  for (int r = 0; r < block.rows; ++r) {
    if (std::isnan(scale[r].factor)) top[r].invalidate();
    write_row_statistics(block, r, scale[r], moments[r], top[r], outputs);
  }
}

// Attention received per key: each worker owns a tile of keys and walks the rows in order.
template <class T>
void attention_received(Context& ctx, const Problem& problem, const ScaleTable<T>& scales,
                        const TensorView& received);

}  // namespace headlight
