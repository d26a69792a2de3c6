// Products of many rows with the block types of GGUF files, in integers: rows of x are rounded to 8 bits as for few rows
// (block_dots-inl.h), both sides are packed, and a register tile sums four products of bytes in one lane at a time.
//
// An element of w is scale · (code - offset) - minimum. Its packed byte is the code, which is not negative. Offsets are powers
// of two: offset · (sum of x) is subtracted in integers before the products; minima are subtracted afterwards, in floats.
//
// Legend.  A part is 32 elements of depth, 8 quads; a group is a part, or half of it for types with two scales a part.
//          left [strip][part][kLeftWords][strip rows]: 8 quads; factor; factor · sum of the part; that of each half;
//          sum of the part; that of each half (integers)
//          right [panel]: quads [parts · 8][panel columns], scales [groups][panel columns], minima [groups][panel columns]
//          c [rows, columns]
#pragma once

#include <cstdint>

#include "headlight/context.h"
#include "kernels/stored_rows.h"

namespace headlight::kernels {

struct ByteBlock {
  int rows = 0, columns = 0, parts = 0;
  StoredType type = StoredType::q4_k;
  const std::int32_t* left = nullptr;
  Index left_parts = 0;  // from strip to strip
  const std::int32_t* right = nullptr;
  float* c = nullptr;
  Index c_stride = 0;
  const float* bias = nullptr;  // [columns], only when `accumulate` is not set
  bool accumulate = false;
};

struct ByteKernels {
  static constexpr Index kPart = 32, kQuads = 8, kLeftWords = kQuads + 7, kRightWords = kQuads + 4;
  int strip = 0, panel = 0;
  // Whether integers are faster than floats here; on some CPUs not for types with signed codes.
  bool (*takes)(StoredType type);
  // Up to `strip` rows of x, each as StoredKernels::arrange() rounds it to bytes.
  void (*pack_left)(const float* arranged, Index stride, int rows, Index depth, std::int32_t* left);
  // `columns` rows of w, `parts` parts from part `first` on: whole blocks, 8 parts at most.
  void (*pack_right)(const StoredRows& w, Index first, int columns, int parts, std::int32_t* right);
  // The sum over a group is exact; groups are added in order, whatever other rows and columns are computed.
  void (*multiply)(const ByteBlock& block);
};

// Null where the target or the CPU has no such products.
[[nodiscard]] const ByteKernels* byte_kernels_for(SimdTarget target);

}  // namespace headlight::kernels
