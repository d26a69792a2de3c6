// Sizes of tiles, segments and blocks. Tile and segment sizes affect the bits of a result, so they may depend
// on the head widths and the dtype, never on lengths, batch or threads. The rows of a block affect only the
// speed.
#pragma once

#include "attention/problem.h"
#include "kernels/attention_tile.h"

namespace headlight {

struct TilePlan {
  int tile_keys = 0;       // keys of a tile: P·V starts from zero in each
  Index segment_keys = 0;  // keys of a segment, counted from key 0: a new softmax starts in each
  int value_dim = 0;       // columns of v, rounded up to whole vectors

  [[nodiscard]] Index tiles(Index keys) const { return (keys + tile_keys - 1) / tile_keys; }
};

inline constexpr int kBlockRows = kernels::kMaxRows;

template <class T>
[[nodiscard]] TilePlan tile_plan(Index dim, Index value_dim, const kernels::AttentionKernels<T>& kernels) {
  TilePlan plan;
  // A tile of K and of V share the second cache with a block of scores: 256 KB of 512.
  const Index row_bytes = (dim + value_dim) * static_cast<Index>(sizeof(T));
  plan.tile_keys = row_bytes <= 1024 ? 256 : row_bytes <= 2048 ? 128 : 64;
  plan.segment_keys = 1024;
  plan.value_dim = static_cast<int>((value_dim + kernels.lanes - 1) / kernels.lanes * kernels.lanes);
  return plan;
}

template <class T>
[[nodiscard]] TilePlan tile_plan(const Problem& problem, const kernels::AttentionKernels<T>& kernels) {
  return tile_plan(problem.dim, problem.value_dim, kernels);
}

}  // namespace headlight
