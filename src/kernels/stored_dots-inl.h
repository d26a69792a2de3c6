// Dot products of a few rows of x with rows of a stored matrix of any type.

#if defined(HEADLIGHT_KERNELS_STORED_DOTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_STORED_DOTS_INL_H_
#undef HEADLIGHT_KERNELS_STORED_DOTS_INL_H_
#else
#define HEADLIGHT_KERNELS_STORED_DOTS_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/stored_integer-inl.h"
#include "kernels/stored_load-inl.h"
#include "kernels/stored_rows.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Products of one group of rows of w with some rows of x. The rows of a group lie `apart` rows from each other, and
// the next group follows right behind: few long streams, which the hardware prefetches. Neighbours
// would be as many short streams. A single row needs its own pass over x, which is free while x is in the L1 cache.
template <StoredType kType, int kRows, int kGroup>
struct Dots {
  using Vec = WideVec<kType>;
  // Bytes. One stream needs as much on its way as four have together; 2 KB for each of four gained nothing.
  static constexpr Index kAhead = kGroup == 1 ? 8192 : 1024;
  const std::byte* w[kGroup];
  const float* x[kRows];
  Index column, apart;
  int row;

  HWY_INLINE Dots(const FewRows& job, Index first, Index rows_apart, int row_of_x)
      : column(first), apart(rows_apart), row(row_of_x) {
    for (int g = 0; g < kGroup; ++g) w[g] = job.w.data + (first + g * apart) * job.w.step;
    for (int r = 0; r < kRows; ++r) x[r] = job.x + (row + r) * job.x_stride;
  }
  HWY_INLINE void ask(int g, Index place) const {
    if (row == 0) __builtin_prefetch(w[g] + place + kAhead, 0, 2);
  }
  HWY_INLINE void store(const FewRows& job, const Vec (&sum)[kRows][kGroup]) const {
    const Wide<kType> d;
    for (int r = 0; r < kRows; ++r) {
      for (int g = 0; g < kGroup; ++g) {
        const Index at = column + g * apart;
        float y = hn::GetLane(hn::SumOfLanes(d, sum[r][g]));
        if (kType == StoredType::int8) y *= job.w.scales[at];
        if (job.bias != nullptr) y += job.bias[at];
        job.y[(row + r) * job.y_stride + at] = y;
      }
    }
  }
};

// Two chains of sums per element, so that an addition need not wait for the previous one.
template <StoredType kType, int kRows, int kGroup>
HWY_NOINLINE HWY_ATTR void dot_group(const FewRows& job, Index column, Index apart, int row) {
  const Dots<kType, kRows, kGroup> dots(job, column, apart, row);
  using Vec = WideVec<kType>;
  const Wide<kType> d;
  const Index lanes = static_cast<Index>(hn::Lanes(d)), depth = job.depth;
  Vec sum[kRows][kGroup], odd[kRows][kGroup];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroup; ++g) sum[r][g] = odd[r][g] = hn::Zero(d);
  }
  const auto add = [&](const WidePair<kType>(&w)[kGroup], Index k) HWY_ATTR {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const Vec first = hn::LoadU(d, dots.x[r] + k), second = hn::LoadU(d, dots.x[r] + k + lanes);
#pragma GCC unroll 4
      for (int g = 0; g < kGroup; ++g) {
        sum[r][g] = hn::MulAdd(w[g].first, first, sum[r][g]);
        odd[r][g] = hn::MulAdd(w[g].second, second, odd[r][g]);
      }
    }
  };
  Index k = 0;
  for (; k + 2 * lanes <= depth; k += 2 * lanes) {
    WidePair<kType> w[kGroup];
#pragma GCC unroll 4
    for (int g = 0; g < kGroup; ++g) {
      const Index place = stored_bytes<kType>(k);
      if (stored_bytes<kType>(2 * lanes) >= 64 || place % 64 == 0) dots.ask(g, place);
      w[g] = load_pair<kType>(dots.w[g] + place);
    }
    add(w, k);
  }
  if (k < depth) {
    WidePair<kType> w[kGroup];
    for (int g = 0; g < kGroup; ++g)
      w[g] = load_pair_part<kType>(dots.w[g] + stored_bytes<kType>(k), depth - k);
    add(w, k);
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroup; ++g) sum[r][g] = hn::Add(sum[r][g], odd[r][g]);
  }
  dots.store(job, sum);
}

// Block by block: the numbers of a block are multiplied and added first, its factor comes once.
template <int kRows, int kGroup, int kBlocks>
HWY_INLINE void add_blocks(const Dots<StoredType::q8_0, kRows, kGroup>& dots, Index k, Index at,
                           WideVec<StoredType::q8_0> (&sum)[kRows][kGroup]) {
  constexpr StoredType kType = StoredType::q8_0;
  using Vec = WideVec<kType>;
  const Wide<kType> d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  HWY_ALIGN float factors[kGroup][kFactors];
  for (int g = 0; g < kGroup; ++g) block_factors<kBlocks>(dots.w[g] + at, factors[g]);
  for (int b = 0; b < kBlocks; ++b, k += kQ8Columns, at += kQ8Bytes) {
    Vec part[kRows][kGroup];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int g = 0; g < kGroup; ++g) part[r][g] = hn::Zero(d);
    }
#pragma GCC unroll 8
    for (Index i = 0; i < kQ8Columns; i += lanes) {
      Vec w[kGroup];
#pragma GCC unroll 4
      for (int g = 0; g < kGroup; ++g) {
        if (i == 0) dots.ask(g, at);
        w[g] = load_vector<kType>(dots.w[g] + at + 2 + i);
      }
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const Vec x = hn::LoadU(d, dots.x[r] + k + i);
#pragma GCC unroll 4
        for (int g = 0; g < kGroup; ++g) part[r][g] = hn::MulAdd(w[g], x, part[r][g]);
      }
    }
#pragma GCC unroll 4
    for (int g = 0; g < kGroup; ++g) {
      const Vec factor = hn::Set(d, factors[g][b]);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) sum[r][g] = hn::MulAdd(factor, part[r][g], sum[r][g]);
    }
  }
}

template <int kRows, int kGroup>
HWY_NOINLINE HWY_ATTR void dot_blocks(const FewRows& job, Index column, Index apart, int row) {
  constexpr StoredType kType = StoredType::q8_0;
  const Dots<kType, kRows, kGroup> dots(job, column, apart, row);
  WideVec<kType> sum[kRows][kGroup];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroup; ++g) sum[r][g] = hn::Zero(Wide<kType>());
  }
  Index k = 0, at = 0;
  constexpr Index kStep = kFactors * kQ8Columns;
  for (; k + kStep <= job.depth; k += kStep, at += kFactors * kQ8Bytes)
    add_blocks<kRows, kGroup, kFactors>(dots, k, at, sum);
  for (; k < job.depth; k += kQ8Columns, at += kQ8Bytes) add_blocks<kRows, kGroup, 1>(dots, k, at, sum);
  dots.store(job, sum);
}

// Block by block: exact sums in integers, then the factors of both sides at once.
template <int kRows, int kGroup, int kBlocks>
HWY_INLINE void add_rounded_blocks(const Dots<StoredType::q8_0, kRows, kGroup>& dots, const RoundedRow* x,
                                   Index block, SumVec (&sum)[kRows][kGroup]) {
  const hn::ScalableTag<float> d;
  HWY_ALIGN float factors[kGroup][kFactors], both[kRows][kGroup][kFactors];
  for (int g = 0; g < kGroup; ++g) {
    block_factors<kBlocks>(dots.w[g] + block * kQ8Bytes, factors[g]);
    for (int r = 0; r < kRows; ++r) multiply_factors<kBlocks>(factors[g], x[r].factors + block, both[r][g]);
  }
  asm volatile(
      ""
      : "+m"(both));  // kept in memory: a load reaches all lanes, a register needs two shuffles for that
#pragma GCC unroll 8
  for (int b = 0; b < kBlocks; ++b) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroup; ++g) {
      const std::byte* w = dots.w[g] + (block + b) * kQ8Bytes;
      dots.ask(g, (block + b) * kQ8Bytes);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const SumVec part = block_products(w + 2, x[r].numbers + (block + b) * kQ8Columns);
        sum[r][g] = hn::MulAdd(hn::Set(d, both[r][g][b]), part, sum[r][g]);
      }
    }
  }
}

template <int kRows, int kGroup>
HWY_NOINLINE HWY_ATTR void dot_rounded(const FewRows& job, Index column, Index apart, int row) {
  const Dots<StoredType::q8_0, kRows, kGroup> dots(job, column, apart, row);
  RoundedRow x[kRows];
  for (int r = 0; r < kRows; ++r) x[r] = RoundedRow(dots.x[r], job.depth);
  SumVec sum[kRows][kGroup];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroup; ++g) sum[r][g] = hn::Zero(hn::ScalableTag<float>());
  }
  const Index blocks = job.depth / kQ8Columns;
  Index block = 0;
  for (; block + kFactors <= blocks; block += kFactors)
    add_rounded_blocks<kRows, kGroup, kFactors>(dots, x, block, sum);
  for (; block < blocks; ++block) add_rounded_blocks<kRows, kGroup, 1>(dots, x, block, sum);
  dots.store(job, sum);
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
