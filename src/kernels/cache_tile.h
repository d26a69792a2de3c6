// Attention of a block of query rows on one tile of cached keys and values, which are stored as f32 or
// narrower and widened in registers. Plain C++; the arithmetic is in cache_tile.cc, once per SIMD target.
//
// A tile of one head is contiguous: K panels [dim][panel], then V panels [tile keys][panel], then for
// int8 one scale per key for K and one for V. It is read front to back.
#pragma once

#include "headlight/context.h"
#include "kernels/attention_tile.h"

namespace headlight::kernels {

enum class Stored : std::uint8_t { f32, f16, bf16, int8 };
inline constexpr int kStoredTypes = 4;

// Position of element (k, c) of a panel: row k, column c. Rows are stored unchanged, except that narrow
// types are interleaved so that one load and one mask leave each element of a vector in the upper end of
// its own 32 bits; that is cheaper than widening by shuffles. The load begins up to 3 bytes early.
struct PanelOrder {
  int panel = 0;  // columns
  int lanes = 0, steps = 1,
      parts = 1;  // `parts` elements share 32 bits: of `steps` rows, `lanes` columns apart
  [[nodiscard]] Index at(Index k, int c) const {
    return k / steps * steps * panel + c % lanes * parts + k % steps * (panel / lanes) + c / lanes;
  }
  // Rows that `rows` rows have room for.
  [[nodiscard]] Index whole(Index rows) const { return (rows + steps - 1) / steps * steps; }
};
inline constexpr Index kEarlyBytes = 64;  // readable before the first panel

struct CacheKernels {
  PanelOrder order[kStoredTypes];
  // As in AttentionKernels, on tile.stored, by stored type. f32, f16 and bf16 give the bits that packing
  // the widened keys and values would give.
  decltype(AttentionKernels<float>::absorb) absorb[kStoredTypes];
  decltype(AttentionKernels<float>::weigh) weigh[kStoredTypes];
  // One row to its stored form. int8: *scale is the largest magnitude / 127, NaN for a row with NaN or Inf.
  void (*narrow)(const float* row, int n, Stored type, void* target, float* scale);
  // And back, without the scale.
  void (*widen)(const void* source, int n, Stored type, float* row);
};

// The target must be one that supported_targets() lists.
[[nodiscard]] const CacheKernels& cache_kernels_for(SimdTarget target);

}  // namespace headlight::kernels
