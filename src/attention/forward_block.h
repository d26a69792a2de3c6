// The forward pass of one block of rows: its keys tile by tile and segment by segment, then the requested outputs.
#pragma once

#include <cstring>
#include <limits>

#include "attention/block.h"
#include "attention/rows.h"
#include "attention/statistics.h"

namespace headlight {

// A checked call, in the type it is computed in.
void run_forward(Context& ctx, const Problem& problem, const AttentionOutputs& outputs);

// Only q·k and visibility, and outputs that need no more than a row's largest score and sum.
[[nodiscard]] inline bool is_plain(const Problem& p, const AttentionOutputs& o) {
  const AttentionOptions& options = *p.options;
  return options.softcap == 0 && p.dropout.threshold == 0 && p.bias.data == nullptr &&
         p.mask.data == nullptr && options.alibi_slopes.empty() && options.sinks.empty() &&
         o.weights.empty() && o.max.empty() && o.sink_weight.empty() && o.received.empty() &&
         !wants_row_statistics(o);
}

// Computes a whole tiny call without options. False: the call does not qualify, or a value is not finite; the outputs are
// then undefined.
template <class T>
[[nodiscard]] bool run_small_call(const Context& ctx, const Problem& problem,
                                  const AttentionOutputs& outputs);

// The segments that some query of a sequence sees. Runs of keys never move back from row to row.
[[nodiscard]] inline Range segments_of(const Problem& problem, const TilePlan& plan,
                                       const Sequence& sequence) {
  Range seen{sequence.k_len, 0};
  for (Index i = 0; i < sequence.q_len; ++i) {
    const Range keys = problem.keys_for(sequence, i);
    if (keys.size() <= 0) continue;
    seen.begin = std::min(seen.begin, keys.begin);
    seen.end = std::max(seen.end, keys.end);
  }
  if (seen.size() <= 0) return {0, 0};
  return {seen.begin / plan.segment_keys, (seen.end + plan.segment_keys - 1) / plan.segment_keys};
}

// Rows of the weights that no sequence of a packed batch has.
template <class T>
void clear_weights_padding(const Problem& problem, const TensorView& weights) {
  for (Index s = 0; s < problem.sequences; ++s) {
    for (Index h = 0; h < problem.q_heads; ++h) {
      for (Index i = problem.sequence(s).q_rows; i < problem.q_longest; ++i) {
        T* row = weights.as<T>() + row_offset(weights, s, h, i);
        std::fill(row, row + problem.k_longest, T{0});
      }
    }
  }
}

// Always inlined: their call overhead would be noticeable in a call of six tokens.
template <class T>
class ForwardBlock {
 public:
  ForwardBlock(const Problem& problem, const AttentionOutputs& outputs,
               const kernels::AttentionKernels<T>& kernels, const TilePlan& plan)
      : problem_(problem),
        outputs_(outputs),
        kernels_(kernels),
        plan_(plan),
        only_out_(outputs.lse.empty() && is_plain(problem, outputs)) {}

  template <class SourceFor>
  [[gnu::always_inline]] void run(const Block<T>& block, const Workspace<T>& space,
                                  const SourceFor& source_for) const {
    RowScale<T> scale[kBlockRows];
    // Optimistic first: a NaN or Inf in a value that some rows do not see shows in the output. Only
    // then is the block done again, row by row, touching nothing that is hidden.
    if (!attend(block, space, source_for, false, scale)) (void)attend(block, space, source_for, true, scale);
    if (wants_row_statistics(outputs_)) row_statistics(block, space, source_for, scale, outputs_);
  }

  // The steps of run(), for drivers that distribute the segments of a block. Rows of `state` become their partial result
  // over the keys in `range`.
  [[gnu::always_inline]] void absorb_range(const Block<T>& block, Range range, const KeySource<T>& source,
                                           const Workspace<T>& space, const kernels::SoftmaxState<T>& state,
                                           T* const* keep, bool careful) const {
    kernels::AbsorbOptions<T> how{.fresh = true, .careful = careful};
    T* rows[kBlockRows];
    bool last[kBlockRows];
    if (keep != nullptr && keeps_exponentials(block, careful)) how.last = last;
    block.for_each_tile(range, source, space, [&](const kernels::Tile<T>& tile) {
      if (keep != nullptr) {
        for (int r = 0; r < block.rows; ++r) {
          rows[r] = keep[r] + tile.first_key;
          last[r] = block.keys[r].end <= tile.first_key + plan_.tile_keys;
        }
        how.keep = rows;
        kernels::FetchAhead ahead = places(block, rows, tile);
        kernels::Tile<T> fetching = tile;
        if (tile.ahead == nullptr) fetching.ahead = &ahead;
        kernels_.absorb(fetching, state, how);
      } else {
        kernels_.absorb(tile, state, how);
      }
      how.fresh = false;
    });
    if (how.fresh) reset(state, block.rows);  // no tile at all
  }

  void reset(const kernels::SoftmaxState<T>& state, int rows) const {
    for (int r = 0; r < kBlockRows; ++r) state.max[r] = -std::numeric_limits<T>::infinity();
    std::memset(state.sum, 0, sizeof(T) * kBlockRows);
    std::memset(state.acc, 0, sizeof(T) * static_cast<std::size_t>(state.acc_stride * rows));
  }

  [[nodiscard]] T* const* kept_rows(const Block<T>& block, T** keep) const {
    if (outputs_.weights.empty()) return nullptr;
    for (int r = 0; r < block.rows; ++r) keep[r] = weights_row(block, r);
    return keep;
  }

  // Writes the rows' outputs. Returns false if one is not finite.
  [[nodiscard]] bool finish(const Block<T>& block, const kernels::SoftmaxState<T>& total, RowScale<T>* scale,
                            bool careful = false) const {
    bool finite = true;
    const Sequence& sequence = block.unit.sequence;
    if (only_out_) {
      for (int r = 0; r < block.rows; ++r) {
        const T sum = total.sum[r];
        store_out(block, r, total, sum == 0 ? T{0} : 1 / sum, &finite);  // rounded as by row_scale()
      }
      return finite;
    }
    const ConstTensorView& sinks = problem_.options->sinks;
    for (int r = 0; r < block.rows; ++r) {
      const bool real = block.query[r] < sequence.q_len;
      const double sink =
          sinks.empty() || !real ? -std::numeric_limits<double>::infinity() : sinks.at(block.head[r]);
      scale[r] = row_scale(total.max[r], total.sum[r], block.rules.logit_unit, sink, !outputs_.lse.empty());
      store_out(block, r, total, out_factor(scale[r]), &finite);
      write_scale(block, r, scale[r], outputs_, scales);
      if (!outputs_.weights.empty()) finish_weights(block, r, scale[r], keeps_exponentials(block, careful));
    }
    return finite;
  }

  ScaleTable<T> scales;  // filled by finish() when it has room

 private:
  template <class SourceFor>
  [[nodiscard]] bool attend(const Block<T>& block, const Workspace<T>& space, const SourceFor& source_for,
                            bool careful, RowScale<T>* scale) const {
    T* keep[kBlockRows];
    T* const* kept = kept_rows(block, keep);
    bool first = true;
    for_each_segment(block, [&](Range range) {
      const kernels::SoftmaxState<T>& state = first ? space.total : space.part;
      absorb_range(block, range, source_for(range), space, state, kept, careful);
      if (!first)
        kernels_.merge(space.total, space.part, block.rules.logit_unit, block.rows, plan_.value_dim);
      first = false;
    });
    if (first) reset(space.total, block.rows);  // rows that see no key
    return finish(block, space.total, scale, careful);
  }

  // Prefetches the memory of a tile's weights, which is touched only when they are written, after the scores.
  [[nodiscard]] kernels::FetchAhead places(const Block<T>& block, T* const* rows,
                                           const kernels::Tile<T>& tile) const {
    kernels::FetchAhead ahead;
    if (problem_.group > 1) return ahead;  // rows of several heads
    const Index keys = tile.end[block.rows - 1], stride = outputs_.weights.stride(2);
    if (keys > 0)
      ahead.regions[ahead.size++] = {reinterpret_cast<const char*>(rows[0]),
                                     stride * static_cast<Index>(sizeof(T)), block.rows,
                                     static_cast<int>(keys * static_cast<Index>(sizeof(T)) / 64)};
    return ahead;
  }

  [[nodiscard]] T* weights_row(const Block<T>& block, int r) const {
    const TensorView& w = outputs_.weights;
    return w.as<T>() + row_offset(w, block.unit.sequence.item, block.head[r], block.query[r]);
  }

  void store_out(const Block<T>& block, int r, const kernels::SoftmaxState<T>& total, T factor,
                 bool* finite) const {
    const Sequence& sequence = block.unit.sequence;
    kernels_.store_row(
        total.acc + r * total.acc_stride, static_cast<int>(problem_.value_dim), factor, problem_.dtype,
        row_at(outputs_.out, sequence.batch, block.head[r], sequence.q_start + block.query[r]), finite);
  }

  // Dropout scales the remaining weights, in the output only.
  [[nodiscard]] T out_factor(const RowScale<T>& scale) const {
    if (problem_.dropout.threshold == 0) return scale.factor;
    return static_cast<T>(static_cast<double>(scale.factor) / (1 - problem_.options->dropout.rate));
  }

  // Whether the weights of a row's last tile are kept as exp2(logit - max): where its maximum is that of the row.
  [[nodiscard]] bool keeps_exponentials(const Block<T>& block, bool careful) const {
    return !careful && block.all_keys.end <= plan_.segment_keys;
  }

  void finish_weights(const Block<T>& block, int r, const RowScale<T>& scale, bool exponentials) const {
    T* row = weights_row(block, r);
    const KeyRun keys = block.keys[r].size() > 0 ? block.keys[r] : KeyRun{0, 0};
    std::fill(row, row + keys.begin, T{0});
    std::fill(row + keys.end, row + problem_.k_longest, T{0});
    Index end = keys.end;  // of the logits
    if (exponentials && keys.size() > 0) {
      bool finite = true;
      end = std::max(keys.begin, (keys.end - 1) / plan_.tile_keys * plan_.tile_keys);
      kernels_.store_row(row + end, static_cast<int>(keys.end - end), scale.factor,
                         sizeof(T) == 4 ? DType::f32 : DType::f64, row + end, &finite);
    }
    kernels_.weigh_kept(row + keys.begin, end - keys.begin, block.rules.logit_unit, scale.shift,
                        scale.factor);
  }

  const Problem& problem_;
  const AttentionOutputs& outputs_;
  const kernels::AttentionKernels<T>& kernels_;
  const TilePlan plan_;
  const bool only_out_;  // no other output, and no option that changes its factor
};

}  // namespace headlight
