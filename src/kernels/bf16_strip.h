// Attention in bf16 with f32 sums: rows as pairs of bf16, and strips of them multiplied by AVX-512's dot products. For
// CPUs with avx512_bf16 only; plain C++ outside of bf16_strip.cc.
//
// Legend.  A pair is two neighbouring elements of depth in 32 bits, the first in the lower half. A row of n elements is
//          (n + 1) / 2 pairs; an odd one ends with a zero. A panel is [pairs][32]: 32 columns, two vectors.
#pragma once

#include <cstdint>

#include "headlight/tensor.h"

namespace headlight::kernels {

using Pair = std::uint32_t;
inline constexpr int kBf16Strip = 8, kBf16Panel = 32;

[[nodiscard]] constexpr int pairs_of(int n) { return (n + 1) / 2; }

// The pairs that are kept where the caller's array of floats is.
[[nodiscard]] inline const Pair* as_pairs(const float* memory) {
  return reinterpret_cast<const Pair*>(memory);
}
[[nodiscard]] inline Pair* as_pairs(float* memory) { return reinterpret_cast<Pair*>(memory); }

// ---- Rows: sources are f16 or bf16, rounded to bf16 ------------------------------------------------------

void load_pairs(const void* source, DType type, int n, Pair* row);
// Panels of 32 keys, a pair two elements of one key. Keys and elements that do not exist are zeros.
void pack_key_pairs(const void* source, DType type, Index stride, int keys, int dim, Pair* panels);
// Panels of 32 columns, a pair one column of two keys; 32 · keys words from panel to panel.
void pack_value_pairs(const void* source, DType type, Index stride, int keys, int dim, Pair* panels);
// Columns 0 … 31 of rows [first, end) of pairs, two rows interleaved: a panel that starts at row `first`, which is even.
void interleave_rows(const Pair* rows, Index stride, int first, int end, Pair* panel);
// n floats (a multiple of 16) to n bf16 in place: at the same address, in half the memory.
void narrow_in_place(float* row, int begin, int end);
// Two rows of n floats (a multiple of 16): as pairs (a[j], b[j]) in place of a, and, unless null, each as pairs of
// its own elements.
void pair_rows(float* a, const float* b, int begin, int end, Pair* own_a, Pair* own_b);
[[nodiscard]] float dot_pairs(const Pair* a, const Pair* b, int n);

// ---- Strips ----------------------------------------------------------------------------------------------

struct PairStrip {
  int pairs = 0;  // depth
  const Pair* a = nullptr;
  Index a_stride = 0, a_two = 0;  // from an even row to the odd one after it, and to the next even row
  const Pair* b = nullptr;        // [pairs][kBf16Panel]
  float* c = nullptr;
  Index c_stride = 0;
  const float* alpha = nullptr;  // per row; null: c is not read
  float factor = 1;              // of the product, when c is not read
};
// c = a·b·factor, or c = c·alpha + a·b with the product started from zero. Up to kBf16Strip rows, 1 or 2 vectors.
void multiply_pairs(int rows, int vectors, const PairStrip& strip);
// c += aᵀ·b: `a` is [pairs][a_stride] and the strip's rows are its columns.
void multiply_pairs_transposed(int rows, int vectors, const PairStrip& strip);
// One row and one vector, c = c·alpha + a·b, where elements that are not `seen` count as zero in b, whatever their value:
// NaN and infinities there do not spread. Otherwise the same bits as above. seen(i) is seen[i · seen_stride], 2 · pairs of them.
struct CarefulRow {
  int pairs = 0;
  const Pair* a = nullptr;
  Index a_stride = 1;
  const Pair* b = nullptr;  // [pairs][kBf16Panel]
  const bool* seen = nullptr;
  Index seen_stride = 1;
  float* c = nullptr;
  float alpha = 1;
};
void multiply_pairs_carefully(const CarefulRow& row);

}  // namespace headlight::kernels
