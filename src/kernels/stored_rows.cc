// Products with stored matrices, compiled once per SIMD target. See stored_rows.h for the legend.
#include "kernels/stored_rows.h"

#include <cstring>

#include "kernels/target_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/stored_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
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

// Asks for memory ahead of the multiplication. The rows of a group are walked side by side, and a page of
// memory is as far as the hardware looks by itself; after its end a row goes on in the group that follows.
template <int kGroup>
class Ahead {
 public:
  explicit HWY_INLINE Ahead(const FewRows& job, Index column)
      : step_(job.w.step),
        at_(job.w.data + (column + kDistance / step_ * kGroup) * step_),
        place_(kDistance % step_) {}
  // As many bytes of every row as the multiplication takes meanwhile.
  template <Index kBytes>
  HWY_INLINE void advance() {
    for (int g = 0; g < kGroup; ++g)
      for (Index line = 0; line < kBytes; line += 64)
        __builtin_prefetch(at_ + g * step_ + place_ + line, 0, 2);
    place_ += kBytes;
    if (place_ >= step_) {
      place_ -= step_;
      at_ += kGroup * step_;
    }
  }

 private:
  static constexpr Index kDistance = 16384;  // of each row: from 8 KB on all is well, 1 KB loses a quarter
  Index step_;
  const std::byte* at_;
  Index place_;
};

// What one group of rows of w makes of some rows of x.
template <StoredType kType, int kRows, int kGroup>
struct Dots {
  const Wide<kType> d;
  const std::byte* w[kGroup];
  const float* x[kRows];

  HWY_INLINE Dots(const FewRows& job, Index column, int row) {
    for (int g = 0; g < kGroup; ++g) w[g] = job.w.data + (column + g) * job.w.step;
    for (int r = 0; r < kRows; ++r) x[r] = job.x + (row + r) * job.x_stride;
  }
  HWY_INLINE void store(const FewRows& job, Index column, int row,
                        const WideVec<kType> (&sum)[kRows][kGroup]) const {
    for (int r = 0; r < kRows; ++r) {
      for (int g = 0; g < kGroup; ++g) {
        float y = hn::GetLane(hn::SumOfLanes(d, sum[r][g]));
        if (job.w.type == StoredType::int8) y *= job.w.scales[column + g];
        if (job.bias != nullptr) y += job.bias[column + g];
        job.y[(row + r) * job.y_stride + column + g] = y;
      }
    }
  }
};

// Two chains of sums per element, for even and odd vectors, so that one addition need not wait for the last.
template <StoredType kType, int kRows, int kGroup>
HWY_NOINLINE HWY_ATTR void dot_group(const FewRows& job, Index column, int row) {
  Dots<kType, kRows, kGroup> dots(job, column, row);
  using Vec = WideVec<kType>;
  const Wide<kType> d;
  const Index lanes = static_cast<Index>(hn::Lanes(d)), depth = job.depth;
  // A line of the cache per row, two vectors at least.
  constexpr Index kLanes = Index{hn::MaxLanes(Wide<kType>())};
  constexpr Index kAtOnce = HWY_MAX(2 * kLanes, 64 / stored_bytes<kType>(1));
  Ahead<kGroup> ahead(job, column);
  Vec sum[kRows][kGroup], odd[kRows][kGroup];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroup; ++g) sum[r][g] = odd[r][g] = hn::Zero(d);
  }
  const auto add = [&](const Vec(&w)[kGroup], Index k, Vec(&to)[kRows][kGroup]) HWY_ATTR {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const Vec x = hn::LoadU(d, dots.x[r] + k);
#pragma GCC unroll 4
      for (int g = 0; g < kGroup; ++g) to[r][g] = hn::MulAdd(w[g], x, to[r][g]);
    }
  };
  const auto step = [&](Index k, Vec(&to)[kRows][kGroup]) HWY_ATTR {
    Vec w[kGroup];
#pragma GCC unroll 4
    for (int g = 0; g < kGroup; ++g) w[g] = load_vector<kType>(dots.w[g] + stored_bytes<kType>(k));
    add(w, k, to);
  };
  Index k = 0;
  for (; k + kAtOnce <= depth; k += kAtOnce) {
    if (row == 0) ahead.template advance<stored_bytes<kType>(kAtOnce)>();
#pragma GCC unroll 4
    for (Index i = 0; i < kAtOnce; i += 2 * kLanes) {
      step(k + i, sum);
      step(k + i + kLanes, odd);
    }
  }
  for (; k + 2 * lanes <= depth; k += 2 * lanes) {
    step(k, sum);
    step(k + lanes, odd);
  }
  for (; k + lanes <= depth; k += lanes) step(k, sum);
  if (k < depth) {
    HWY_ALIGN float rest[HWY_MAX_BYTES / sizeof(float)] = {};
    for (int r = 0; r < kRows; ++r) {
      std::memcpy(rest, dots.x[r] + k, sizeof(float) * static_cast<std::size_t>(depth - k));
      const Vec x = hn::Load(d, rest);
      for (int g = 0; g < kGroup; ++g)
        odd[r][g] = hn::MulAdd(load_part<kType>(dots.w[g] + stored_bytes<kType>(k), depth - k), x, odd[r][g]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroup; ++g) sum[r][g] = hn::Add(sum[r][g], odd[r][g]);
  }
  dots.store(job, column, row, sum);
}

// Block by block: the numbers of a block are multiplied and added first, its factor comes once.
template <int kRows, int kGroup>
HWY_NOINLINE HWY_ATTR void dot_blocks(const FewRows& job, Index column, int row) {
  Dots<StoredType::q8_0, kRows, kGroup> dots(job, column, row);
  using Vec = WideVec<StoredType::q8_0>;
  const Wide<StoredType::q8_0> d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  Ahead<kGroup> ahead(job, column);
  Vec sum[kRows][kGroup];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroup; ++g) sum[r][g] = hn::Zero(d);
  }
  Index at = 0;
  for (Index k = 0; k < job.depth; k += kQ8Columns, at += kQ8Bytes) {
    if (row == 0) ahead.template advance<kQ8Bytes>();
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
      for (int g = 0; g < kGroup; ++g) w[g] = load_vector<StoredType::q8_0>(dots.w[g] + at + 2 + i);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const Vec x = hn::LoadU(d, dots.x[r] + k + i);
#pragma GCC unroll 4
        for (int g = 0; g < kGroup; ++g) part[r][g] = hn::MulAdd(w[g], x, part[r][g]);
      }
    }
#pragma GCC unroll 4
    for (int g = 0; g < kGroup; ++g) {
      const Vec factor = block_factor(dots.w[g] + at);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) sum[r][g] = hn::MulAdd(factor, part[r][g], sum[r][g]);
    }
  }
  dots.store(job, column, row, sum);
}

template <StoredType kType, int kRows, int kGroup>
HWY_INLINE void dot(const FewRows& job, Index column, int row) {
  if constexpr (kType == StoredType::q8_0) dot_blocks<kRows, kGroup>(job, column, row);
  else dot_group<kType, kRows, kGroup>(job, column, row);
}

// All columns for some rows of x, group by group.
template <StoredType kType, int kRows>
HWY_INLINE Index dot_groups(const FewRows& job, Index column, int row) {
  constexpr int kGroup = group_of<kRows>();
  const Index end = HWY_MIN(job.columns, column + 4);  // groups of 1, 2 and 4 all end here
  for (; column + kGroup <= end; column += kGroup) dot<kType, kRows, kGroup>(job, column, row);
  for (; column < end; ++column) dot<kType, kRows, 1>(job, column, row);
  return column;
}

HWY_ATTR void multiply_few(const FewRows& job) {
  with_stored_type(job.w.type, [&]<StoredType kType>() HWY_ATTR {
    for (Index column = 0; column < job.columns;) {
      Index next = column;
      // The rows of w stay in the first cache for all rows of x.
      for (int row = 0; row < job.rows; row += 4) {
        switch (HWY_MIN(4, job.rows - row)) {
          case 1: next = dot_groups<kType, 1>(job, column, row); break;
          case 2: next = dot_groups<kType, 2>(job, column, row); break;
          case 3: next = dot_groups<kType, 3>(job, column, row); break;
          default: next = dot_groups<kType, 4>(job, column, row);
        }
      }
      column = next;
    }
  });
}

// Eight rows of w at a time: sums go through memory once for eight products, and w is read in long runs.
template <StoredType kType, int kSteps>
HWY_ATTR void add_steps(const FewRows& job, Index first, Index k, float* sums, Index sums_stride) {
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
      float* to = sums + r * sums_stride + c;
      const float* x = job.x + r * job.x_stride + k;
      WideVec<kType> sum = hn::LoadU(d, to);
#pragma GCC unroll 8
      for (int i = 0; i < kSteps; ++i) sum = hn::MulAdd(hn::Set(d, x[i]), right[i], sum);
      hn::StoreU(sum, d, to);
    }
  }
}

HWY_ATTR void multiply_few_in_out(const FewRows& job, Index first, float* sums) {
  const Index stride = (job.columns + 15) / 16 * 16;
  with_stored_type(job.w.type, [&]<StoredType kType>() HWY_ATTR {
    if constexpr (kType != StoredType::q8_0) {  // a block would lie across rows of x
      for (Index start = 0; start < job.depth; start += kStoredDepth) {
        const Index end = HWY_MIN(job.depth, start + kStoredDepth);
        std::memset(sums, 0, sizeof(float) * static_cast<std::size_t>(job.rows * stride));
        Index k = start;
        for (; k + 8 <= end; k += 8) add_steps<kType, 8>(job, first, k, sums, stride);
        for (; k < end; ++k) add_steps<kType, 1>(job, first, k, sums, stride);
        for (int r = 0; r < job.rows; ++r) {
          float* y = job.y + r * job.y_stride;
          const float* from = sums + r * stride;
          for (Index c = 0; c < job.columns; ++c) {
            if (start > 0) y[c] += from[c];
            else y[c] = job.bias != nullptr ? from[c] + job.bias[c] : from[c];
          }
        }
      }
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

StoredKernels make_stored_table() { return {multiply_few, multiply_few_in_out, widen, pack, pack_in_out}; }

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

const StoredKernels& stored_kernels_for(SimdTarget target) {
  return HEADLIGHT_TABLE_OF(make_stored_table, target);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
