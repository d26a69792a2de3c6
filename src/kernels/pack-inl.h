// Moving rows in and out of the kernels' own layout, with conversion from and to the stored dtype.

#if defined(HEADLIGHT_KERNELS_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_PACK_INL_H_
#undef HEADLIGHT_KERNELS_PACK_INL_H_
#else
#define HEADLIGHT_KERNELS_PACK_INL_H_
#endif

#include <bit>
#include <cstring>

#include "headlight/tensor.h"
#include "hwy/highway.h"
#if HWY_ARCH_X86
#include "kernels/transpose_words-inl.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// F16C rounds to nearest even and keeps Inf and NaN, which Highway's own f16 conversions do not on
// every target.
#undef HEADLIGHT_F16C
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define HEADLIGHT_F16C 1
#else
#define HEADLIGHT_F16C 0
#endif

inline float widen_f16(std::uint16_t bits) {
  const std::uint32_t magnitude = bits & 0x7FFFU, sign = (bits & 0x8000U) << 16;
  // Shifted into a float's fields the exponent is 112 too small, for denormals too.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const std::uint32_t value = magnitude >= 0x7C00U ? (0x7F800000U | ((magnitude & 0x3FFU) << 13))
                                                   : std::bit_cast<std::uint32_t>(scaled);
  return std::bit_cast<float>(value | sign);
}

inline std::uint16_t narrow_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

template <class T>
HWY_ATTR void widen_row_f16(const std::uint16_t* source, int n, T* row) {
  int i = 0;
#if HEADLIGHT_F16C
  if constexpr (sizeof(T) == 4) {
    for (; i + 8 <= n; i += 8) {
      _mm256_storeu_ps(row + i,
                       _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i))));
    }
  }
#endif
  for (; i < n; ++i) row[i] = static_cast<T>(widen_f16(source[i]));
}

// row[i] = source[i], whatever the source's dtype.
template <class T>
HWY_ATTR void widen_row(const void* source, DType type, int n, T* row) {
  switch (type) {
    case DType::f16: widen_row_f16(static_cast<const std::uint16_t*>(source), n, row); break;
    case DType::bf16: {
      const auto* bits = static_cast<const std::uint16_t*>(source);
      for (int i = 0; i < n; ++i)
        row[i] = static_cast<T>(std::bit_cast<float>(static_cast<std::uint32_t>(bits[i]) << 16));
      break;
    }
    case DType::f64: {
      const auto* x = static_cast<const double*>(source);
      for (int i = 0; i < n; ++i) row[i] = static_cast<T>(x[i]);
      break;
    }
    default: {
      const auto* x = static_cast<const float*>(source);
      for (int i = 0; i < n; ++i) row[i] = static_cast<T>(x[i]);
    }
  }
}

template <class T>
constexpr bool is_native(DType type) {
  return type == (sizeof(T) == 4 ? DType::f32 : DType::f64);
}

template <class T>
HWY_ATTR void load_row(const void* source, DType type, int n, T factor, T* row) {
  const hn::ScalableTag<T> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const T* from = static_cast<const T*>(source);
  if (!is_native<T>(type)) {
    widen_row(source, type, n, row);
    from = row;
  }
  const auto f = hn::Set(d, factor);
  int i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, from + i), f), d, row + i);
  for (; i < n; ++i) row[i] = from[i] * factor;
}

HWY_ATTR inline void narrow_row(const float* row, int n, DType type, void* target) {
  auto* bits = static_cast<std::uint16_t*>(target);
  int i = 0;
  if (type == DType::bf16) {
    for (; i < n; ++i) bits[i] = narrow_bf16(row[i]);
    return;
  }
#if HEADLIGHT_F16C
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(bits + i),
        _mm256_cvtps_ph(_mm256_loadu_ps(row + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
#endif
  for (; i < n; ++i) bits[i] = to_f16(row[i]).bits;
}

// target = row · factor, rounded once; clears *finite when a result is Inf or NaN. Adding zero turns
// -0 into +0, so that the output does not depend on which zeros were skipped and which were computed.
template <class T>
HWY_ATTR void store_row(const T* row, int n, T factor, DType type, void* target, bool* finite) {
  const hn::ScalableTag<T> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  constexpr int kChunk = 256;
  HWY_ALIGN T chunk[kChunk];
  const auto f = hn::Set(d, factor), zero = hn::Zero(d);
  auto worst = zero;  // x - x is 0 for a finite x and NaN otherwise
  for (int start = 0; start < n; start += kChunk) {
    const int m = HWY_MIN(kChunk, n - start);
    T* to = is_native<T>(type) ? static_cast<T*>(target) + start : chunk;
    int i = 0;
    for (; i + lanes <= m; i += lanes) {
      const auto x = hn::Add(hn::Mul(hn::LoadU(d, row + start + i), f), zero);
      worst = hn::Add(worst, hn::Sub(x, x));
      hn::StoreU(x, d, to + i);
    }
    for (; i < m; ++i) {
      to[i] = row[start + i] * factor + T{0};
      if (!(to[i] - to[i] == 0)) *finite = false;
    }
    if constexpr (sizeof(T) == 4) {
      if (!is_native<T>(type)) narrow_row(chunk, m, type, static_cast<std::uint16_t*>(target) + start);
    }
  }
  if (!hn::AllTrue(d, hn::Eq(worst, zero))) *finite = false;
}

// Transposes a block of rows × columns, both as long as a 128-bit vector, through registers.
#if HWY_TARGET != HWY_SCALAR
HWY_INLINE void transpose_block(const float* in, Index in_stride, float* out, Index out_stride) {
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<double, 2> w;
  const auto a = hn::LoadU(d, in), b = hn::LoadU(d, in + in_stride);
  const auto c = hn::LoadU(d, in + 2 * in_stride), e = hn::LoadU(d, in + 3 * in_stride);
  const auto ab0 = hn::BitCast(w, hn::InterleaveLower(d, a, b)),
             ab1 = hn::BitCast(w, hn::InterleaveUpper(d, a, b));
  const auto ce0 = hn::BitCast(w, hn::InterleaveLower(d, c, e)),
             ce1 = hn::BitCast(w, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(w, ab0, ce0)), d, out);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(w, ab0, ce0)), d, out + out_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(w, ab1, ce1)), d, out + 2 * out_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(w, ab1, ce1)), d, out + 3 * out_stride);
}
HWY_INLINE void transpose_block(const double* in, Index in_stride, double* out, Index out_stride) {
  const hn::FixedTag<double, 2> d;
  const auto a = hn::LoadU(d, in), b = hn::LoadU(d, in + in_stride);
  hn::StoreU(hn::InterleaveLower(d, a, b), d, out);
  hn::StoreU(hn::InterleaveUpper(d, a, b), d, out + out_stride);
}
#endif

// In blocks of 128-bit vectors.
template <class T>
HWY_ATTR void transpose_narrow(const T* in, Index in_stride, int rows, int columns, T* out,
                               Index out_stride) {
  int whole_rows = 0, whole_columns = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr int kBlock = 16 / sizeof(T);
  whole_rows = rows / kBlock * kBlock;
  whole_columns = columns / kBlock * kBlock;
  // One cache line of each row at a time, used completely before the next rows: rows whose distance is a power
  // of two share so few sets of the L1 cache that a line would be evicted before its second use.
  constexpr int kLine = 64 / sizeof(T);
  for (int line = 0; line < whole_columns; line += kLine) {
    const int end = HWY_MIN(whole_columns, line + kLine);
    for (int j = 0; j < whole_rows; j += kBlock) {
      for (int x = line; x < end; x += kBlock)
        transpose_block(in + j * in_stride + x, in_stride, out + x * out_stride + j, out_stride);
    }
  }
#endif
  for (int j = 0; j < rows; ++j) {
    for (int x = j < whole_rows ? whole_columns : 0; x < columns; ++x)
      out[x * out_stride + j] = in[j * in_stride + x];
  }
}

// out[x * out_stride + j] = in[j * in_stride + x]
template <class T>
HWY_ATTR void transpose(const T* in, Index in_stride, int rows, int columns, T* out, Index out_stride) {
  int wide_rows = 0, wide_columns = 0;
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(T) == 4) {
    wide_rows = rows / 16 * 16;
    wide_columns = columns / 16 * 16;
    for (int j = 0; j < wide_rows; j += 16) {
      for (int x = 0; x < wide_columns; x += 16) {
        __m512i block[16];
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) block[i] = _mm512_loadu_si512(in + (j + i) * in_stride + x);
        transpose_words(block, reinterpret_cast<std::int32_t*>(out + x * out_stride + j), out_stride);
      }
    }
  }
#endif
  const int rest = columns - wide_columns;
  if (wide_rows > 0 && rest > 0)
    transpose_narrow(in + wide_columns, in_stride, wide_rows, rest, out + wide_columns * out_stride,
                     out_stride);
  if (wide_rows < rows)
    transpose_narrow(in + wide_rows * in_stride, in_stride, rows - wide_rows, columns, out + wide_rows,
                     out_stride);
}

template <class T>
HWY_ATTR void pack_keys(const void* source, DType type, Index stride, int keys, int dim, T* panels) {
  const int panel = 2 * static_cast<int>(hn::Lanes(hn::ScalableTag<T>()));
  const auto* bytes = static_cast<const std::uint8_t*>(source);
  constexpr int kChunk = 64;  // columns converted at a time if the dtype is not T
  HWY_ALIGN T wide[HWY_MAX_BYTES / sizeof(T) * 2 * kChunk];
  for (int first = 0; first < keys; first += panel, panels += static_cast<Index>(panel) * dim) {
    const int n = HWY_MIN(panel, keys - first);
    if (n < panel)
      std::memset(panels, 0, sizeof(T) * static_cast<std::size_t>(panel) * static_cast<std::size_t>(dim));
    if (is_native<T>(type)) {
      transpose(static_cast<const T*>(source) + first * stride, stride, n, dim, panels, panel);
      continue;
    }
    for (int x = 0; x < dim; x += kChunk) {
      const int m = HWY_MIN(kChunk, dim - x);
      for (int j = 0; j < n; ++j) {
        widen_row(bytes + ((first + j) * stride + x) * static_cast<Index>(size_of(type)), type, m,
                  wide + j * kChunk);
      }
      transpose(wide, Index{kChunk}, n, m, panels + static_cast<Index>(x) * panel, panel);
    }
  }
}

// Columns beyond dim are zeros, so that the last panel can be used whole.
template <class T>
HWY_ATTR void pack_values(const void* source, DType type, Index stride, int keys, int dim, T* panels) {
  const hn::ScalableTag<T> d;
  const int lanes = static_cast<int>(hn::Lanes(d)), panel = 2 * lanes;
  const auto* bytes = static_cast<const std::uint8_t*>(source);
  const auto size = static_cast<Index>(size_of(type));
  for (int x = 0; x < dim; x += panel, panels += static_cast<Index>(panel) * keys) {
    const int m = HWY_MIN(panel, dim - x);
    for (int j = 0; j < keys; ++j) {
      T* to = panels + static_cast<Index>(j) * panel;
      const std::uint8_t* from = bytes + (j * stride + x) * size;
      if (m == panel && is_native<T>(type)) {
        const auto* row = reinterpret_cast<const T*>(from);
        hn::StoreU(hn::LoadU(d, row), d, to);
        hn::StoreU(hn::LoadU(d, row + lanes), d, to + lanes);
        continue;
      }
      if (is_native<T>(type)) {
        for (int i = 0; i < m; ++i) to[i] = reinterpret_cast<const T*>(from)[i];
      } else {
        widen_row(from, type, m, to);
      }
      for (int i = m; i < panel; ++i) to[i] = 0;
    }
  }
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
