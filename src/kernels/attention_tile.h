// Attention on one tile: a block of query rows against a run of keys. This file is plain C++; the
// arithmetic is in attention_tile.cc, compiled once per SIMD target.
//
// Legend.  q [rows, dim]   k [keys, dim]   s = q·kᵀ   p = exp2(s - max)   acc [rows, value_dim]
// Rows and keys count inside a tile. Scores are kept in base 2: log2(e) is folded into q's scale, so
// that the softmax needs only exp2. T is float or double. With a bias, logits are also
// kept in units of four bits: the largest finite bias times log2(e) would not fit T.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/random.h"
#include "headlight/tensor.h"

namespace headlight::kernels {

// How one row's scores become logits, beyond q·k. Null pointers mean "none". No default values: a
// block has space for many rows, and clearing unused ones would dominate a small call.
template <class T>
struct RowRule {
  T slope;           // ALiBi, times log2(e)/logit_unit
  Index position;    // of the query among the keys, for ALiBi
  const void* bias;  // element of key 0 of the sequence
  const std::uint8_t* mask;
};

// A power of two, so that dividing by it rounds nothing, and more than log2(e).
inline constexpr int kBiasUnit = 4;

template <class T>
struct ScoreRules {
  T logit_unit = 1;  // bits of a logit's unit: 1, or kBiasUnit when there is a bias
  T cap = 0;         // > 0: s = cap · tanh(s); cap holds log2(e)/logit_unit already
  bool alibi = false;
  DType bias_type = DType::f32;
  Index bias_stride = 0, mask_stride = 0;  // from key to key, in elements
  const RowRule<T>* rows = nullptr;
  [[nodiscard]] bool any() const { return rows != nullptr; }
};

// Which weights of which rows dropout drops; no key means none.
struct DropoutRows {
  const DropoutKey* key = nullptr;
  double scale = 1;  // of the weights that stay: 1/(1 - rate)
  Index item = 0;
  const Index* head = nullptr;  // per row
  const Index* query = nullptr;
};

// A row's running softmax: largest logit, sum of exponentials, weighted sum of values.
template <class T>
struct SoftmaxState {
  T* max = nullptr;
  T* sum = nullptr;
  T* acc = nullptr;  // [rows][acc_stride]
  Index acc_stride = 0;
};

// Rows of memory to prefetch. Short sequences end before the hardware prefetcher has found a pattern, and
// requesting all lines at once would stall: each product prefetches a few.
struct FetchAhead {
  struct Rows {
    const char* first;
    Index stride;  // bytes
    int count, lines;
  };
  static constexpr int kLine = 64;
  Rows regions[4];
  int size = 0, region = 0, row = 0;

  [[nodiscard]] int rows() const noexcept {
    int sum = 0;
    for (int i = 0; i < size; ++i) sum += regions[i].count;
    return sum;
  }
  void fetch(int rows_now) noexcept {
    for (; rows_now > 0 && region < size; --rows_now) {
      const Rows& from = regions[region];
      const char* line = from.first + row * from.stride;
      for (int i = 0; i < from.lines; ++i) __builtin_prefetch(line + i * kLine, 0, 2);
      if (++row == from.count) {
        ++region;
        row = 0;
      }
    }
  }
};

// A tile of a cache, stored as f32 or narrower: see cache_tile.h.
struct StoredTile {
  const std::byte* keys = nullptr;
  const std::byte* values = nullptr;
  const float* key_scales = nullptr;  // int8 only
  const float* value_scales = nullptr;
  const std::byte* next = nullptr;  // where reading continues after this tile, for prefetching
  int tile_keys = 0;                // keys there is room for; of each V panel
};

template <class T>
struct Tile {
  int rows = 0, dim = 0, value_dim = 0;  // value_dim may be rounded up to whole vectors
  const T* q = nullptr;                  // [rows][dim], scaled
  T factor = 1;  // what q is not scaled by: kernels with plain_rows multiply scores with it
  Index q_stride = 0;
  const StoredTile* stored = nullptr;   // instead of keys and values: the kernels of a cache
  const T* keys = nullptr;              // packed panels, see pack_keys
  const T* values = nullptr;            // packed panels, or the caller's own rows
  Index value_stride = 0;               // from key to key
  Index value_panel_stride = 0;         // from one panel of columns to the next
  const std::int32_t* begin = nullptr;  // per row: the run of keys it sees, inside this tile;
  const std::int32_t* end = nullptr;    //   ends never fall from row to row
  ScoreRules<T> rules;
  DropoutRows dropout;
  Index first_key = 0;  // place of the tile's first key in its sequence
  T* scores = nullptr;  // [rows][scores_stride], scratch
  Index scores_stride = 0;
  FetchAhead* ahead = nullptr;
};

// How absorb() takes a tile into the rows' states.
template <class T>
struct AbsorbOptions {
  bool fresh = false;  // the states are uninitialised
  // Multiplies no weight with the value of a key that the row does not see, so that NaN and Inf there
  // stay there. Slower, and the same bits otherwise.
  bool careful = false;
  T* const* keep = nullptr;  // per row where to leave the logits: the element of the tile's first key
  // Per row: no later tile can raise its maximum, so `keep` gets exp2(s - max) instead. Null: logits everywhere.
  const bool* last = nullptr;
};

// The kernels of one SIMD target for one accumulation type. A panel is two vectors wide: K panels hold
// that many keys as [dim][panel], V panels that many columns as [key][panel].
template <class T>
struct AttentionKernels {
  int lanes = 0, panel = 0;
  int strip = 0;            // rows that share one register tile
  bool plain_rows = false;  // load_row ignores its factor, so that 16-bit rows are not rounded again

  // Copies with conversion; `stride` is from row to row of the source, in elements.
  void (*pack_keys)(const void* source, DType type, Index stride, int keys, int dim, T* panels);
  void (*pack_values)(const void* source, DType type, Index stride, int keys, int dim, T* panels);
  void (*load_row)(const void* source, DType type, int n, T factor, T* row);
  void (*store_row)(const T* row, int n, T factor, DType type, void* target, bool* finite);

  void (*absorb)(const Tile<T>& tile, const SoftmaxState<T>& state, const AbsorbOptions<T>& options);

  // The weights themselves, in tile.scores: w = exp2((s - shift)·logit_unit)·factor, and -1 where the row sees
  // no key. Adds sum w·(s - shift)·logit_unit to `moment` unless it is null.
  void (*weigh)(const Tile<T>& tile, const T* shift, const T* factor, T* moment);
  // The same for logits that were kept: n of them, in place; hidden ones become 0.
  void (*weigh_kept)(T* logits, Index n, T logit_unit, T shift, T factor);

  // state += other, as merging two runs of keys. Rows with no keys are the identity.
  void (*merge)(const SoftmaxState<T>& state, const SoftmaxState<T>& other, T logit_unit, int rows,
                int value_dim);

  void (*exp2)(const T* x, Index n, T* y);  // the exponential the softmax calls, for its own tests
  void (*tanh)(const T* x, Index n, T* y);
};

struct KernelTable {
  AttentionKernels<float> f32;
  AttentionKernels<double> f64;
  template <class T>
  [[nodiscard]] const AttentionKernels<T>& of() const {
    if constexpr (sizeof(T) == 4) return f32;
    else return f64;
  }
};

inline constexpr int kMaxRows = 96;  // rows of a block
inline constexpr int kMaxTileKeys = 256;

}  // namespace headlight::kernels
