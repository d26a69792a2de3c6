// The gradient of attention on one tile: a block of query rows against a run of keys.
//
// Legend.  p = exp2((s - shift)·logit_unit)·factor   dp = dout·vᵀ   ds = p·(dp - delta)   delta_i = dout_i·out_i
//          dv += pᵀ·dout       dk += dsᵀ·q     dq += ds·k
// Softmax's gradient needs sum_j p_ij·dp_ij for every row. As out_i = sum_j p_ij·v_j, that sum is
// dot(dout_i, out_i): one dot product instead of another pass over all keys.
#pragma once

#include "kernels/attention_tile.h"

namespace headlight::kernels {

template <class T>
struct BackwardTile {
  Tile<T> tile;                   // q, keys, ranges, rules and the scratch for scores
  const T* value_keys = nullptr;  // v packed as pack_keys does, for dp
  const T* key_rows = nullptr;    // k packed as pack_values does, for dq
  Index key_rows_panel_stride = 0;
  const T* dout = nullptr;  // [rows][dout_stride]
  Index dout_stride = 0;
  const T* shift = nullptr;   // per row: lse as a logit; -inf for a row that sees nothing
  const T* factor = nullptr;  // per row: 1, unless lse is too large to be precise enough
  const T* delta = nullptr;   // per row
  T* dp = nullptr;            // scratch like tile.scores
  bool careful = false;       // as in AbsorbOptions
  bool of_scores = false;     // ds stays that of the score itself: not yet through the softcap
  bool* seen = nullptr;       // scratch if `careful`: kMaxRows · kMaxTileKeys
};

// Where a tile's gradients are added: dk and dv per key, dq per row. Columns in whole panels.
template <class T>
struct BackwardSums {
  T* dq = nullptr;
  T* dk = nullptr;
  T* dv = nullptr;
  Index dq_stride = 0, dk_stride = 0, dv_stride = 0;
};

template <class T>
struct BackwardKernels {
  // Fills tile.scores with p (dropout applied) and dp with ds, then adds to dk and dv.
  void (*keys)(const BackwardTile<T>& tile, const BackwardSums<T>& sums);
  // Adds to dq, from the ds that keys() left.
  void (*rows)(const BackwardTile<T>& tile, const BackwardSums<T>& sums);
  // Only p and ds, for the gradient of the bias.
  void (*weights)(const BackwardTile<T>& tile);
  T (*dot)(const T* a, const T* b, int n);
};

struct BackwardTable {
  BackwardKernels<float> f32;
  BackwardKernels<double> f64;
  template <class T>
  [[nodiscard]] const BackwardKernels<T>& of() const {
    if constexpr (sizeof(T) == 4) return f32;
    else return f64;
  }
};

}  // namespace headlight::kernels
