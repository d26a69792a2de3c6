// Products with stored matrices, compiled once per SIMD target. See stored_rows.h for the legend.
#include "kernels/stored_rows.h"

#include <cstring>

#include "kernels/target_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/stored_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/stored_integer-inl.h"
#include "kernels/stored_load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of w that are multiplied at a time: they share the loads of x. As many as registers allow.
template <int kRows>
constexpr int group_of() {
  if (HWY_TARGET == HWY_AVX3) return kRows <= 2 ? 4 : 2;
  return kRows == 1 ? 4 : kRows == 2 ? 2 : 1;
}

// What one group of rows of w makes of some rows of x. The rows of a group lie `apart` rows from each other, and
// the next group follows right behind: few long streams, which the hardware fetches ahead by itself. Neighbours
// would be as many short ones, and one row alone would read all of x for itself.
template <StoredType kType, int kRows, int kGroup>
struct Dots {
  using Vec = WideVec<kType>;
  static constexpr Index kAhead = 2048;  // bytes: helps where a long x takes the first cache for itself
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

// Two chains of sums per element, so that one addition need not wait for the last.
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

// Block by block: exact sums in integers, then the factors of both sides at once.
template <int kRows, int kGroup, int kBlocks>
HWY_INLINE void add_blocks(const Dots<StoredType::q8_0, kRows, kGroup>& dots, const RoundedRow* x,
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
HWY_NOINLINE HWY_ATTR void dot_blocks(const FewRows& job, Index column, Index apart, int row) {
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
    add_blocks<kRows, kGroup, kFactors>(dots, x, block, sum);
  for (; block < blocks; ++block) add_blocks<kRows, kGroup, 1>(dots, x, block, sum);
  dots.store(job, sum);
}

template <StoredType kType, int kRows, int kGroup>
HWY_INLINE void dot(const FewRows& job, Index column, Index apart, int row) {
  if constexpr (kType == StoredType::q8_0) dot_blocks<kRows, kGroup>(job, column, apart, row);
  else dot_group<kType, kRows, kGroup>(job, column, apart, row);
}

// Four rows of w, `apart` from each other, or one alone (apart = 0), with some rows of x.
template <StoredType kType, int kRows>
HWY_INLINE void dot_four(const FewRows& job, Index column, Index apart, int row) {
  constexpr int kGroup = group_of<kRows>();
  if (apart == 0) return dot<kType, kRows, 1>(job, column, 0, row);
  for (int g = 0; g < 4; g += kGroup) dot<kType, kRows, kGroup>(job, column + g * apart, apart, row);
}

HWY_ATTR void multiply_few(const FewRows& job) {
  with_stored_type(job.w.type, [&]<StoredType kType>() HWY_ATTR {
    // The rows of w stay in the first cache for all rows of x.
    const auto all_rows = [&](Index column, Index apart) HWY_ATTR {
      for (int row = 0; row < job.rows; row += 4) {
        switch (HWY_MIN(4, job.rows - row)) {
          case 1: dot_four<kType, 1>(job, column, apart, row); break;
          case 2: dot_four<kType, 2>(job, column, apart, row); break;
          case 3: dot_four<kType, 3>(job, column, apart, row); break;
          default: dot_four<kType, 4>(job, column, apart, row);
        }
      }
    };
    constexpr Index kStream = 16;  // rows of each of the four streams, before they move on
    for (Index column = 0; column < job.columns;) {
      const Index apart = HWY_MIN(kStream, (job.columns - column) / 4);
      for (Index i = 0; i < HWY_MAX(apart, 1); ++i) all_rows(column + i, apart);
      column += apart == 0 ? 1 : 4 * apart;
    }
  });
}

Index arranged_size(Index depth) {
  constexpr Index kUnit = HWY_MAX(kQ8Columns, Index{2 * HWY_MAX_BYTES / sizeof(float)});
  return (depth + kUnit - 1) / kUnit * kUnit;
}

// The order of load_pair(), and what block_products() takes.
HWY_ATTR void arrange(StoredType type, const float* x, Index depth, float* to) {
  const auto lanes = static_cast<Index>(hn::Lanes(hn::ScalableTag<float>()));
  const Index size = arranged_size(depth);
  if (type == StoredType::q8_0) return round_row(x, depth, to);
  if (type != StoredType::bf16) {
    std::memcpy(to, x, sizeof(float) * static_cast<std::size_t>(depth));
    std::memset(to + depth, 0, sizeof(float) * static_cast<std::size_t>(size - depth));
    return;
  }
  for (Index k = 0; k < size; k += 2 * lanes) {
    for (Index i = 0; i < 2 * lanes; ++i) to[k + i % 2 * lanes + i / 2] = k + i < depth ? x[k + i] : 0;
  }
}

// Eight rows of w at a time: sums go through memory once for eight products, and w is read in long runs.
template <StoredType kType, int kSteps>
HWY_ATTR void add_steps(const FewRows& job, Index first, Index k) {
  const Wide<kType> d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  StoredRows w = job.w.from(k);
  w.data += stored_bytes<kType>(first);
  for (Index c = 0; c < job.columns; c += lanes) {
    WideVec<kType> right[kSteps];
    const Index n = HWY_MIN(lanes, job.columns - c);
#pragma GCC unroll 8
    for (int i = 0; i < kSteps; ++i) {
      const std::byte* from = w.data + i * w.step + stored_bytes<kType>(c);
      right[i] = n == lanes ? load_vector<kType>(from) : load_part<kType>(from, n);
      if constexpr (kType == StoredType::int8) right[i] = hn::Mul(right[i], hn::Set(d, w.scales[i]));
    }
    for (int r = 0; r < job.rows; ++r) {
      float* to = job.y + r * job.y_stride + c;
      const float* x = job.x + r * job.x_stride + k;
      WideVec<kType> sum = hn::LoadU(d, to);
#pragma GCC unroll 8
      for (int i = 0; i < kSteps; ++i) sum = hn::MulAdd(hn::Set(d, x[i]), right[i], sum);
      hn::StoreU(sum, d, to);
    }
  }
}

HWY_ATTR void sum_few_in_out(const FewRows& job, Index first) {
  with_stored_type(job.w.type, [&]<StoredType kType>() HWY_ATTR {
    if constexpr (kType != StoredType::q8_0) {  // a block would lie across rows of x
      for (int r = 0; r < job.rows; ++r)
        std::memset(job.y + r * job.y_stride, 0,
                    sizeof(float) * static_cast<std::size_t>((job.columns + 15) / 16 * 16));
      Index k = 0;
      for (; k + 8 <= job.depth; k += 8) add_steps<kType, 8>(job, first, k);
      for (; k < job.depth; ++k) add_steps<kType, 1>(job, first, k);
    }
  });
}

HWY_ATTR void widen(const StoredRows& w, Index first, int n, float* to) {
  with_stored_type(w.type, [&]<StoredType kType>() HWY_ATTR { widen_stored<kType>(w, first, n, to); });
}

// As pack_keys() in pack-inl.h, for more types.
HWY_ATTR void pack(const StoredRows& w, Index k, int columns, int depth, float* panels) {
  const int panel = 2 * static_cast<int>(hn::Lanes(hn::ScalableTag<float>()));
  constexpr int kChunk = 64;
  HWY_ALIGN float wide[HWY_MAX_BYTES / sizeof(float) * 2 * kChunk];
  with_stored_type(w.type, [&]<StoredType kType>() HWY_ATTR {
    for (int first = 0; first < columns; first += panel, panels += Index{panel} * depth) {
      const int n = HWY_MIN(panel, columns - first);
      if (n < panel) std::memset(panels, 0, sizeof(float) * static_cast<std::size_t>(panel * depth));
      for (int x = 0; x < depth; x += kChunk) {
        const int m = HWY_MIN(kChunk, depth - x);
        for (int j = 0; j < n; ++j) {
          const StoredRows row = w.from(first + j);
          // The same piece of the row that the next panel takes: too many rows for the hardware to follow.
          const std::byte* next = row.data + panel * row.step + place_of<kType>(k + x);
          for (Index line = 0; line < place_of<kType>(kChunk); line += 64) __builtin_prefetch(next + line);
          widen_stored<kType>(row, k + x, m, wide + j * kChunk);
        }
        transpose(wide, Index{kChunk}, n, m, panels + Index{x} * panel, panel);
      }
    }
  });
}

HWY_ATTR void pack_in_out(const StoredRows& w, Index first, int columns, int depth, float* panels) {
  constexpr Index kRowsAhead = 16;
  const int panel = 2 * static_cast<int>(hn::Lanes(hn::ScalableTag<float>()));
  with_stored_type(w.type, [&]<StoredType kType>() HWY_ATTR {
    for (int c = 0; c < columns; c += panel, panels += Index{panel} * depth) {
      const int n = HWY_MIN(panel, columns - c);
      for (int k = 0; k < depth; ++k) {
        float* to = panels + Index{k} * panel;
        const std::byte* next = w.data + (k + kRowsAhead) * w.step + place_of<kType>(first + c);
        for (Index line = 0; line < place_of<kType>(32); line += 64) __builtin_prefetch(next + line);
        widen_stored<kType>(w.from(k), first + c, n, to);
        for (int i = n; i < panel; ++i) to[i] = 0;
      }
    }
  });
}

StoredKernels make_stored_table() {
  return {arranged_size, arrange, multiply_few, sum_few_in_out, widen, pack, pack_in_out};
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

const StoredKernels& stored_kernels_for(SimdTarget target) {
  return HEADLIGHT_TABLE_OF(make_stored_table, target);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
