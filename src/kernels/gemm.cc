// Dense products on packed blocks, compiled once per SIMD target. See gemm.h for the legend.
#include "kernels/gemm.h"

#include <cstring>

#include "kernels/target_table.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of the register tile, two vectors wide: 12 × 2 of AVX-512's 32 registers, 6 × 2 of the others' 16.
inline constexpr int kGemmStrip = HWY_TARGET == HWY_AVX3 ? 12 : 6;

template <class T>
int panel_width() {
  return 2 * static_cast<int>(hn::Lanes(hn::ScalableTag<T>()));
}

template <class T>
HWY_ATTR void pack_left(const T* source, Index stride, int rows, int depth, T* strips) {
  if (depth == 0) return;  // an empty matrix may have any pointer, including null
  for (int first = 0; first < rows; first += kGemmStrip, strips += Index{kGemmStrip} * depth) {
    const int n = HWY_MIN(kGemmStrip, rows - first);
    if (n < kGemmStrip) std::memset(strips, 0, sizeof(T) * static_cast<std::size_t>(kGemmStrip * depth));
    transpose(source + first * stride, stride, n, depth, strips, Index{kGemmStrip});
  }
}

// Row by row of the source, so that contiguous memory is read together.
template <class T>
HWY_ATTR void pack_left_transposed(const T* source, Index stride, int rows, int depth, T* strips) {
  const int whole = rows / kGemmStrip;
  for (int k = 0; k < depth; ++k, source += stride, strips += kGemmStrip) {
    T* to = strips;
    for (int s = 0; s < whole; ++s, to += Index{kGemmStrip} * depth)
      std::memcpy(to, source + s * kGemmStrip, sizeof(T) * kGemmStrip);
    for (int r = 0; whole * kGemmStrip < rows && r < kGemmStrip; ++r)
      to[r] = whole * kGemmStrip + r < rows ? source[whole * kGemmStrip + r] : T{0};
  }
}

template <class T>
HWY_ATTR void pack_right(const T* source, Index stride, int columns, int depth, T* panels) {
  if (depth == 0) return;
  pack_values(source, sizeof(T) == 4 ? DType::f32 : DType::f64, stride, depth, columns, panels);
}

template <class T>
HWY_ATTR void pack_right_transposed(const T* source, Index stride, int columns, int depth, T* panels) {
  if (depth == 0) return;
  pack_keys(source, sizeof(T) == 4 ? DType::f32 : DType::f64, stride, columns, depth, panels);
}

enum class Finish { store, add_bias, accumulate };

// One register tile: a whole strip times a whole panel.
template <class T, Finish kFinish>
HWY_NOINLINE HWY_ATTR void multiply_tile(int depth, const T* left, const T* right, T* c, Index c_stride,
                                         const T* bias) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int lanes = static_cast<int>(hn::Lanes(d));
  V sum[kGemmStrip][2];
#pragma GCC unroll 16
  for (V(&row)[2] : sum) row[0] = row[1] = hn::Zero(d);
  const auto add = [&](int steps) HWY_ATTR {
#pragma GCC unroll 4
    for (int k = 0; k < steps; ++k, left += kGemmStrip, right += 2 * lanes) {
      const V p0 = hn::LoadU(d, right), p1 = hn::LoadU(d, right + lanes);
#pragma GCC unroll 16
      for (int r = 0; r < kGemmStrip; ++r) {
        const V x = hn::Set(d, left[r]);
        sum[r][0] = hn::MulAdd(x, p0, sum[r][0]);
        sum[r][1] = hn::MulAdd(x, p1, sum[r][1]);
      }
    }
  };
  if constexpr (kFinish == Finish::accumulate) {
    // If prefetched earlier, rows of c that are a power of two apart would evict each other from the L1 cache.
    const int last = HWY_MIN(depth, 24);
    add(depth - last);
    for (int r = 0; r < kGemmStrip; ++r) {
      __builtin_prefetch(c + r * c_stride, 1);
      __builtin_prefetch(c + r * c_stride + 2 * lanes - 1, 1);
    }
    add(last);
  } else {
    add(depth);
  }
#pragma GCC unroll 16
  for (int r = 0; r < kGemmStrip; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      T* to = c + r * c_stride + v * lanes;
      V x = sum[r][v];
      if constexpr (kFinish == Finish::accumulate) x = hn::Add(hn::LoadU(d, to), x);
      if constexpr (kFinish == Finish::add_bias) x = hn::Add(x, hn::LoadU(d, bias + v * lanes));
      hn::StoreU(x, d, to);
    }
  }
}

// A tile at the edge is computed whole in separate memory; the existing elements are then added in the same order.
template <class T>
HWY_ATTR void multiply_edge(const BlockProduct<T>& block, const T* left, const T* right, int row, int column,
                            int rows, int columns) {
  HWY_ALIGN T whole[kGemmStrip * 2 * HWY_MAX_BYTES / sizeof(T)];
  const int panel = panel_width<T>();
  multiply_tile<T, Finish::store>(block.depth, left, right, whole, panel, nullptr);
  for (int r = 0; r < rows; ++r) {
    T* to = block.c + (row + r) * block.c_stride + column;
    for (int x = 0; x < columns; ++x) {
      const T product = whole[r * panel + x];
      if (block.accumulate) to[x] += product;
      else to[x] = block.bias != nullptr ? product + block.bias[column + x] : product;
    }
  }
}

template <class T>
HWY_ATTR void multiply_block(const BlockProduct<T>& block) {
  const int panel = panel_width<T>();
  const auto tile = block.accumulate        ? multiply_tile<T, Finish::accumulate>
                    : block.bias != nullptr ? multiply_tile<T, Finish::add_bias>
                                            : multiply_tile<T, Finish::store>;
  for (int column = 0; column < block.columns; column += panel) {
    const T* right = block.right + column / panel * block.panel_step;
    const int columns = HWY_MIN(panel, block.columns - column);
    for (int row = 0; row < block.rows; row += kGemmStrip) {
      const T* left = block.left + static_cast<Index>(row) * block.depth;
      const int rows = HWY_MIN(kGemmStrip, block.rows - row);
      if (rows == kGemmStrip && columns == panel) {
        tile(block.depth, left, right, block.c + row * block.c_stride + column, block.c_stride,
             block.bias == nullptr ? nullptr : block.bias + column);
      } else {
        multiply_edge(block, left, right, row, column, rows, columns);
      }
    }
  }
}

template <class T>
GemmKernels<T> gemm_of() {
  return {kGemmStrip,    panel_width<T>(),         pack_left<T>,     pack_left_transposed<T>,
          pack_right<T>, pack_right_transposed<T>, multiply_block<T>};
}

GemmTable make_gemm_table() { return {gemm_of<float>(), gemm_of<double>()}; }

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

const GemmTable& gemm_kernels_for(SimdTarget target) { return HEADLIGHT_TABLE_OF(make_gemm_table, target); }

}  // namespace headlight::kernels
#endif  // HWY_ONCE
