// Products of many rows with blocks of q8_0, or rows of int8 as blocks with one scale, in integers, where the CPU
// multiplies 16-bit pairs and adds in one instruction (AVX-512 with VNNI): 19 instructions do the work of 32 fused
// multiply-adds. Rows of x are rounded to 16 bits as for few rows of q8_0 (stored_integer-inl.h).
//
// Legend.  A block is 32 steps of depth, 16 pairs.   left [strip][block][pair][kStrip rows], factors [strip][block][kStrip]
//          right [panel][block][pair][kPanel columns], factors [panel][block][kPanel]   c [rows, columns]
#pragma once

#include <cstdint>

#include "headlight/context.h"
#include "kernels/stored_rows.h"

namespace headlight::kernels {

struct IntegerBlock {
  int rows = 0, columns = 0, blocks = 0;
  const std::int32_t* left = nullptr;
  const float* left_factors = nullptr;
  Index left_blocks = 0;  // from strip to strip
  const std::int32_t* right = nullptr;
  const float* right_factors = nullptr;
  float* c = nullptr;
  Index c_stride = 0;
  const float* bias = nullptr;  // [columns], only when `accumulate` is not set
  bool accumulate = false;
};

struct IntegerKernels {
  static constexpr int kStrip = 6, kPanel = 32, kPairs = 16;
  // Up to kStrip rows of x, each as StoredKernels::arrange() rounds it.
  void (*pack_left)(const float* arranged, Index stride, int rows, Index depth, std::int32_t* left,
                    float* factors);
  // `columns` rows of w, `blocks` blocks from block `first` on.
  void (*pack_right)(const StoredRows& w, Index first, int columns, int blocks, std::int32_t* right,
                     float* factors);
  // The sum over a block is exact; blocks are added in order, whatever other rows and columns are computed.
  void (*multiply)(const IntegerBlock& block);
};

// Null where the CPU or the target cannot.
[[nodiscard]] const IntegerKernels* integer_kernels_for(SimdTarget target);

}  // namespace headlight::kernels
