// Shared by the two passes of the backward call: the rows of a block in the form that gradients need.
#pragma once

#include <cstring>

#include "attention/block.h"
#include "attention/rows.h"
#include "kernels/backward_tile.h"

namespace headlight {

// Key tiles of the backward pass are half as long: three packed forms of a tile, two sums and two blocks of
// scores then fit in the L2 cache together.
template <class T>
[[nodiscard]] TilePlan backward_plan(const Problem& problem, const kernels::AttentionKernels<T>& kernels) {
  TilePlan plan = tile_plan(problem, kernels);
  plan.tile_keys = std::max(64, plan.tile_keys / 2);
  return plan;
}

template <class T>
[[nodiscard]] const kernels::BackwardKernels<T>& backward_kernels_of(const Context& ctx,
                                                                     const Problem& problem) {
  if constexpr (sizeof(T) == 4) {
    if (wants_bf16(ctx, problem)) {
      if (const auto* kernels = kernels::bf16_backward_for(ctx.target())) return *kernels;
    }
  }
  return kernels::backward_kernels_for(ctx.target()).of<T>();
}

// Inputs of the tiles for the rows of a unit: [rows][stride] each.
template <class T>
struct GradRows {
  T* q = nullptr;  // scaled as in the forward pass
  T* dout = nullptr;
  T* dq = nullptr;
  T* shift = nullptr;  // per row
  T* factor = nullptr;
  T* delta = nullptr;
  Index q_stride = 0, dout_stride = 0;

  [[nodiscard]] static Index stride(Index columns) { return (columns + 15) / 16 * 16 + 16; }
  [[nodiscard]] static Index elements(const Problem& problem, Index rows) {
    return rows * (2 * stride(problem.dim) + stride(problem.value_dim) + 3) + 64;
  }
  GradRows(T* memory, const Problem& problem, Index rows)
      : q_stride(stride(problem.dim)), dout_stride(stride(problem.value_dim)) {
    q = memory;
    dq = q + rows * q_stride;
    dout = dq + rows * q_stride;
    shift = dout + rows * dout_stride;
    factor = shift + rows;
    delta = factor + rows;
  }
};

// A worker's packed tile, its sums and its scratch.
template <class T>
struct GradTiles {
  T *keys = nullptr, *value_keys = nullptr, *key_rows = nullptr;
  T *dk = nullptr, *dv = nullptr;
  T *scores = nullptr, *dp = nullptr;
  T* row = nullptr;  // one row of out, converted
  bool* seen = nullptr;
  Index dk_stride = 0, dv_stride = 0, scores_stride = 0;

  [[nodiscard]] static Index elements(const Problem& problem, const TilePlan& plan) {
    const Index n = plan.tile_keys + 32, dim = GradRows<T>::stride(problem.dim) + 16,
                value_dim = GradRows<T>::stride(problem.value_dim) + 16;
    return n * (3 * dim + 2 * value_dim) + 2 * kBlockRows * n + value_dim +
           kBlockRows * kernels::kMaxTileKeys / static_cast<Index>(sizeof(T)) + 256;
  }
  GradTiles(T* memory, const Problem& problem, const TilePlan& plan)
      : dk_stride(GradRows<T>::stride(problem.dim)),
        dv_stride(GradRows<T>::stride(problem.value_dim)),
        scores_stride(plan.tile_keys + 16) {
    const Index n = plan.tile_keys + 32;
    const auto take = [&memory](Index count) {
      T* taken = memory;
      memory += (count + 15) / 16 * 16;
      return taken;
    };
    scores = take(kBlockRows * scores_stride);
    dp = take(kBlockRows * scores_stride);
    keys = take(n * problem.dim);
    value_keys = take(n * problem.value_dim);
    key_rows = take(n * dk_stride);
    dk = take(n * dk_stride);
    dv = take(n * dv_stride);
    row = take(dv_stride);
    seen = reinterpret_cast<bool*>(memory);
  }
};

// Packs a tile of the unit's keys and values in the three forms that the gradients need.
template <class T>
void pack_tile(const Problem& problem, const kernels::AttentionKernels<T>& kernels, const Unit& unit,
               Range range, const GradTiles<T>& space) {
  const Sequence& s = unit.sequence;
  const int n = static_cast<int>(range.size());
  const void* k = row_at(problem.k, s.batch, unit.kv_head, s.k_start + range.begin);
  const void* v = row_at(problem.v, s.batch, unit.kv_head, s.k_start + range.begin);
  kernels.pack_keys(k, problem.dtype, problem.k.stride(2), n, static_cast<int>(problem.dim), space.keys);
  kernels.pack_keys(v, problem.dtype, problem.v.stride(2), n, static_cast<int>(problem.value_dim),
                    space.value_keys);
  kernels.pack_values(k, problem.dtype, problem.k.stride(2), n, static_cast<int>(problem.dim),
                      space.key_rows);
}

// dout, lse and delta of the block's rows, at `rows` (already moved to the block's first row). May pack keys
// into `space`: pack a tile after this.
template <class T>
void load_grad_rows(const Block<T>& block, const kernels::BackwardKernels<T>& backward,
                    const AttentionSaved& saved, const ConstTensorView& dout, const GradRows<T>& rows,
                    const GradTiles<T>& space) {
  const Problem& problem = block.problem;
  const Sequence& sequence = block.unit.sequence;
  const int n = static_cast<int>(problem.value_dim);
  Workspace<T> tile;
  tile.q = rows.q;
  tile.q_stride = rows.q_stride;
  tile.scores = space.scores;
  tile.scores_stride = space.scores_stride;
  const KeyReader<T> keys(problem, block.plan, block.kernels, false);
  RowScale<T> scale[kBlockRows];
  scales_from_lse(
      block, saved.lse, tile, block.plan.tile_keys,
      [&](Range range) { return keys.read(block.unit, range, space.keys); }, scale, ScaleFrom::lse);
  for (int r = 0; r < block.rows; ++r) {
    T* to = rows.dout + r * rows.dout_stride;
    const Index token = sequence.q_start + block.query[r];
    std::memset(to, 0, sizeof(T) * static_cast<std::size_t>(rows.dout_stride));
    rows.shift[r] = scale[r].shift;
    rows.factor[r] = scale[r].factor;
    rows.delta[r] = 0;
    // A row that sees no key has no gradient, whatever dout is.
    if (block.keys[r].size() == 0 || scale[r].lse == -std::numeric_limits<double>::infinity()) {
      rows.shift[r] = -std::numeric_limits<T>::infinity();
      continue;
    }
    block.kernels.load_row(row_at(dout, sequence.batch, block.head[r], token), problem.dtype, n, T{1}, to);
    block.kernels.load_row(row_at(saved.out, sequence.batch, block.head[r], token), problem.dtype, n, T{1},
                           space.row);
    rows.delta[r] = backward.dot(to, space.row, n);
  }
}

// The tile as the kernels take it: `tile` from Block::for_each_tile, rows at `rows`.
template <class T>
[[nodiscard]] kernels::BackwardTile<T> backward_tile(const kernels::Tile<T>& tile, const Block<T>& block,
                                                     Range range, const GradRows<T>& rows,
                                                     const GradTiles<T>& space, bool careful) {
  kernels::BackwardTile<T> b;
  b.tile = tile;
  b.tile.value_dim = static_cast<int>(block.problem.value_dim);
  b.tile.q = rows.q;
  b.tile.q_stride = rows.q_stride;
  b.tile.scores = space.scores;
  b.tile.scores_stride = space.scores_stride;
  b.value_keys = space.value_keys;
  b.key_rows = space.key_rows;
  b.key_rows_panel_stride = range.size() * block.kernels.panel;
  b.dout = rows.dout;
  b.dout_stride = rows.dout_stride;
  b.shift = rows.shift;
  b.factor = rows.factor;
  b.delta = rows.delta;
  b.dp = space.dp;
  b.careful = careful;
  b.seen = space.seen;
  return b;
}

// The gradients of the bias and the sinks, each in a separate pass.
void bias_gradient(Context& ctx, const Problem& problem, const AttentionSaved& saved,
                   const ConstTensorView& dout, const TensorView& dbias);
void sink_gradient(Context& ctx, const Problem& problem, const AttentionSaved& saved,
                   const ConstTensorView& dout, const TensorView& dsinks);

}  // namespace headlight
