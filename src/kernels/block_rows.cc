// The kernels of stored_rows.h for the block types of GGUF files, compiled once per SIMD target.
#include <algorithm>
#include <cstring>

#include "headlight/stored_matrix.h"
#include "kernels/stored_rows.h"
#include "kernels/target_table.h"

#if defined(__x86_64__)
// AVX-512 without byte products uses vectors of 256 bits like AVX2, with the same bits.
namespace headlight::kernels::N_AVX2 {
void multiply_rounded(const FewRows& job);
}
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/block_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/block_dots-inl.h"
#include "kernels/block_wide-inl.h"
#include "kernels/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Widened together: a block of 256, or as much of small ones.
constexpr Index kRun = 256;

#if HWY_TARGET == HWY_SCALAR
// No integers on this target: rows of x are not rounded, which is more exact than requested.
constexpr bool kRounds = false;
void round_to_bytes(const float*, Index, float*) {}

void widen_row_of(const StoredRows& w, Index first, Index n, float* to) {
  const Index columns = block_columns(w.type), bytes = block_bytes(w.type);
  float values[kRun];
  while (n > 0) {
    read_block(w.type, w.data + first / columns * bytes, values);
    const Index from = first % columns, count = std::min(n, columns - from);
    std::copy_n(values + from, count, to);
    first += count, n -= count, to += count;
  }
}
#else
constexpr bool kRounds = true;

HWY_ATTR void widen_row_of(const StoredRows& w, Index first, Index n, float* to) {
  with_block_type(w.type, [&]<StoredType kType>() HWY_ATTR { widen_blocks<kType>(w.data, first, n, to); });
}

// The same bits for any number of rows.
template <StoredType kType, bool kVnni, int kRows>
HWY_INLINE void dot_rows(const std::byte* w, const ByteRow* x, Index depth, float* to) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (kVnni && is_wide(kType)) return dot_wide<kType, kRows>(w, x, depth, to);
#endif
  dot_bytes<kType, kVnni, kRows>(w, x, depth, to);
}

template <StoredType kType, bool kVnni>
HWY_ATTR void multiply_bytes(const FewRows& job) {
  ByteRow x[kFewRows];
  for (int r = 0; r < job.rows; ++r) x[r] = ByteRow(const_cast<float*>(job.x) + r * job.x_stride, job.depth);
  for (Index column = 0; column < job.columns; ++column) {
    const std::byte* w = job.w.data + column * job.w.step;
    const float bias = job.bias == nullptr ? 0 : job.bias[column];
    for (int r = 0; r < job.rows; r += 2) {
      float y[2] = {};
      if (r + 1 < job.rows) dot_rows<kType, kVnni, 2>(w, x + r, job.depth, y);
      else dot_rows<kType, kVnni, 1>(w, x + r, job.depth, y);
      for (int i = 0; i < std::min(2, job.rows - r); ++i)
        job.y[(r + i) * job.y_stride + column] = y[i] + bias;
    }
  }
}

HWY_ATTR void multiply_rounded(const FewRows& job) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  static const bool vnni = has_byte_products();
  if (vnni) {
    return with_block_type(job.w.type,
                           [&]<StoredType kType>() HWY_ATTR { multiply_bytes<kType, true>(job); });
  }
#endif
#if HWY_TARGET == HWY_AVX3
  N_AVX2::multiply_rounded(job);
#else
  with_block_type(job.w.type, [&]<StoredType kType>() HWY_ATTR { multiply_bytes<kType, false>(job); });
#endif
}
#endif

// Unrounded x: a run of w is converted to floats and multiplied with all rows of x.
HWY_ATTR void multiply_exact(const FewRows& job) {
  const hn::ScalableTag<float> d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  HWY_ALIGN float wide[kRun], sums[kFewRows][2 * hn::MaxLanes(hn::ScalableTag<float>())];
  for (Index column = 0; column < job.columns; ++column) {
    const StoredRows w = job.w.from(column);
    std::memset(sums, 0, sizeof sums);
    for (Index k = 0; k < job.depth; k += kRun) {
      const Index n = std::min(kRun, job.depth - k);
      widen_row_of(w, k, n, wide);
      for (int r = 0; r < job.rows; ++r) {
        const float* x = job.x + r * job.x_stride + k;
        auto even = hn::Load(d, sums[r]), odd = hn::Load(d, sums[r] + lanes);
        for (Index i = 0; i < n; i += 2 * lanes) {
          even = hn::MulAdd(hn::Load(d, wide + i), hn::LoadU(d, x + i), even);
          odd = hn::MulAdd(hn::Load(d, wide + i + lanes), hn::LoadU(d, x + i + lanes), odd);
        }
        hn::Store(even, d, sums[r]);
        hn::Store(odd, d, sums[r] + lanes);
      }
    }
    const float bias = job.bias == nullptr ? 0 : job.bias[column];
    for (int r = 0; r < job.rows; ++r) {
      const auto sum = hn::Add(hn::Load(d, sums[r]), hn::Load(d, sums[r] + lanes));
      job.y[r * job.y_stride + column] = hn::GetLane(hn::SumOfLanes(d, sum)) + bias;
    }
  }
}

HWY_ATTR void multiply_few_blocks(const FewRows& job) {
#if HWY_TARGET != HWY_SCALAR
  if (job.rounded) return multiply_rounded(job);
#endif
  multiply_exact(job);
}

Index block_arranged_size(Index depth) { return (depth + 63) / 64 * 64; }

HWY_ATTR void arrange_for_blocks(ArrangedFor how, const float* x, Index depth, float* to) {
  if (how == ArrangedFor::bytes && kRounds) return round_to_bytes(x, depth, to);
  std::memcpy(to, x, sizeof(float) * static_cast<std::size_t>(depth));
}

HWY_ATTR void widen_block_row(const StoredRows& w, Index first, int n, float* to) {
  widen_row_of(w, first, n, to);
}

// As pack() in stored_rows.cc.
HWY_ATTR void pack_blocks(const StoredRows& w, Index k, int columns, int depth, float* panels) {
  const int panel = 2 * static_cast<int>(hn::Lanes(hn::ScalableTag<float>()));
  constexpr int kChunk = 128;
  const Index chunk_bytes = row_bytes(w.type, std::max<Index>(kChunk, block_columns(w.type)));
  HWY_ALIGN float wide[HWY_MAX_BYTES / sizeof(float) * 2 * kChunk];
  for (int first = 0; first < columns; first += panel, panels += Index{panel} * depth) {
    const int n = HWY_MIN(panel, columns - first);
    if (n < panel) std::memset(panels, 0, sizeof(float) * static_cast<std::size_t>(panel * depth));
    for (int x = 0; x < depth; x += kChunk) {
      const int m = HWY_MIN(kChunk, depth - x);
      for (int j = 0; j < n; ++j) {
        const StoredRows row = w.from(first + j);
        // The same piece of the row that the next panel takes: too many rows for the hardware to follow.
        const std::byte* next = row.data + panel * row.step + row_bytes(w.type, k + x);
        for (Index line = 0; line < chunk_bytes; line += 64) __builtin_prefetch(next + line);
        widen_row_of(row, k + x, m, wide + j * kChunk);
      }
      transpose(wide, Index{kChunk}, n, m, panels + Index{x} * panel, panel);
    }
  }
}

StoredKernels make_block_table() {
  return {block_arranged_size,
          arrange_for_blocks,
          multiply_few_blocks,
          nullptr,
          widen_block_row,
          pack_blocks,
          nullptr};
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

const StoredKernels& block_kernels_for(SimdTarget target) {
  return HEADLIGHT_TABLE_OF(make_block_table, target);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
