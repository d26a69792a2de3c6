// Products with stored matrices, compiled once per SIMD target. See stored_rows.h for the legend.
#include "kernels/stored_rows.h"

#include <cstring>

#include "kernels/target_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/stored_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/stored_dots-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of w that are multiplied together: they share the loads of x. As many as registers allow.
template <int kRows>
constexpr int group_of() {
  if (HWY_TARGET == HWY_SCALAR) return 1;  // not for speed
  if (HWY_TARGET == HWY_AVX3) return kRows <= 2 ? 4 : 2;
  return kRows == 1 ? 4 : kRows == 2 ? 2 : 1;
}

template <StoredType kType, int kRows, int kGroup>
HWY_INLINE void dot(const FewRows& job, Index column, Index apart, int row) {
  if constexpr (kType == StoredType::q8_0) {
    if (job.rounded) dot_rounded<kRows, kGroup>(job, column, apart, row);
    else dot_blocks<kRows, kGroup>(job, column, apart, row);
    return;
  } else dot_group<kType, kRows, kGroup>(job, column, apart, row);
}

// Four rows of w, `apart` from each other, or one alone (apart = 0), with some rows of x.
template <StoredType kType, int kRows>
HWY_INLINE void dot_four(const FewRows& job, Index column, Index apart, int row) {
  constexpr int kGroup = group_of<kRows>();
  if (apart == 0) {  // up to three rows of w, at the end
    for (int r = 0; r < kRows; ++r) dot<kType, 1, 1>(job, column, 0, row + r);
    return;
  }
  for (int g = 0; g < 4; g += kGroup) dot<kType, kRows, kGroup>(job, column + g * apart, apart, row);
}

HWY_ATTR void multiply_few(const FewRows& job) {
  with_stored_type(job.w.type, [&]<StoredType kType>() HWY_ATTR {
    // The rows of w stay in the L1 cache for all rows of x.
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
    // A short x stays in the L1 cache: one long stream is then the fastest.
    constexpr Index kShort = 16 << 10;
    const Index size_of_x = job.depth * (job.w.type == StoredType::q8_0 && job.rounded ? 2 : 4);
    if (job.rows == 1 && size_of_x <= kShort) {
      for (Index column = 0; column < job.columns; ++column) dot<kType, 1, 1>(job, column, 0, 0);
      return;
    }
    // The length of each of four streams, approximately; with shorter ones, restarting them takes a fifth of the time.
    constexpr Index kStreamBytes = 128 << 10;
    const Index stream = HWY_MAX(16, kStreamBytes / HWY_MAX(1, job.w.step));
    const Index turns = HWY_MAX(1, (job.columns + 2 * stream) / (4 * stream));
    const Index rows = HWY_MAX(1, job.columns / (4 * turns));
    for (Index column = 0; column < job.columns;) {
      const Index apart = HWY_MIN(rows, (job.columns - column) / 4);
      for (Index i = 0; i < HWY_MAX(apart, 1); ++i) all_rows(column + i, apart);
      column += apart == 0 ? 1 : 4 * apart;
    }
  });
}

Index arranged_size(Index depth) {
  constexpr Index kUnit = HWY_MAX(kQ8Columns, Index{2 * HWY_MAX_BYTES / sizeof(float)});
  return (depth + kUnit - 1) / kUnit * kUnit;
}

// The element order of load_pair(), which block_products() expects.
HWY_ATTR void arrange(ArrangedFor how, const float* x, Index depth, float* to) {
  const auto lanes = static_cast<Index>(hn::Lanes(hn::ScalableTag<float>()));
  const Index size = arranged_size(depth);
  if (how == ArrangedFor::rounding) return round_row(x, depth, to);
  if (how != ArrangedFor::bf16) {
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
      // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): int8 always has them
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
    if constexpr (kType != StoredType::q8_0) {  // a block would span several rows of x
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
          // Prefetches the same section of the next panel's row: hardware prefetchers do not track so many rows.
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
