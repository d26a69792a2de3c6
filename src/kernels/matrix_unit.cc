// See matrix_unit.h for the legend. One CPU family only, so no table of targets.
#include "kernels/matrix_unit.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // of what its own header leaves undefined on purpose
#endif
#include <immintrin.h>

#include "kernels/transpose_words-inl.h"

// For compilers that are not told to use these instructions everywhere.
#define HEADLIGHT_MATRIX \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma,amx-tile,amx-bf16")))

namespace headlight::kernels {
namespace {

constexpr int kStrip = MatrixKernels::kStrip, kPanel = MatrixKernels::kPanel, kStep = MatrixKernels::kStep;
constexpr Index kTileBytes = MatrixKernels::kTileBytes;
constexpr int kTileRow = 64;  // bytes

// ---- Packing ------------------------------------------------------------------------------------------

struct Parts {
  __m512i high, low;
};
// 32 numbers as two bf16 each. What is no finite bf16 has no low part: infinity minus infinity is no number.
HEADLIGHT_MATRIX inline Parts split(__m512 first, __m512 second) {
  const auto high = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first));
  const auto rest = [&](__m512 x, __m256i rounded) HEADLIGHT_MATRIX {
    const __m512 wide = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(rounded), 16));
    return _mm512_maskz_sub_ps(_knot_mask16(_mm512_fpclass_ps_mask(wide, 0x99)), x, wide);
  };
  const __m512 low_first = rest(first, _mm512_castsi512_si256(high)),
               low_second = rest(second, _mm512_extracti64x4_epi64(high, 1));
  return {high, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(low_second, low_first))};
}

// 32 floats of which `n` exist, zeros after them.
HEADLIGHT_MATRIX inline Parts split_floats(const float* x, Index n) {
  const auto mask = [&](Index first) {
    return static_cast<__mmask16>((1U << std::clamp<Index>(n - first, 0, 16)) - 1);
  };
  return split(_mm512_maskz_loadu_ps(mask(0), x), _mm512_maskz_loadu_ps(mask(16), x + 16));
}

HEADLIGHT_MATRIX void pack_left(const float* x, Index stride, int rows, Index depth, std::byte* left) {
  if (rows < kStrip)
    std::memset(left, 0, static_cast<std::size_t>(MatrixKernels::steps_of(depth) * 2 * kTileBytes));
  for (Index k = 0; k < depth; k += kStep, left += 2 * kTileBytes) {
    for (int r = 0; r < rows; ++r) {
      const Parts parts = split_floats(x + r * stride + k, depth - k);
      _mm512_storeu_si512(left + r * kTileRow, parts.high);
      _mm512_storeu_si512(left + kTileBytes + r * kTileRow, parts.low);
    }
  }
}

// The lower sixteen bf16 beside the upper ones.
HEADLIGHT_MATRIX inline __m512i paired(__m512i numbers) {
  const __m512i even = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(numbers)),
                odd = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(numbers, 1));
  return _mm512_or_si512(even, _mm512_slli_epi32(odd, 16));
}
// Two steps of depth, sixteen numbers each, as pairs.
HEADLIGHT_MATRIX inline Parts split_pairs(__m512 even, __m512 odd) {
  const Parts parts = split(even, odd);
  return {paired(parts.high), paired(parts.low)};
}

HEADLIGHT_MATRIX void pack_left_transposed(const float* x, Index stride, int rows, Index depth,
                                           std::byte* left) {
  const auto mask = static_cast<__mmask16>((1U << rows) - 1);
  const auto row_at = [&](Index k) HEADLIGHT_MATRIX {
    return k < depth ? _mm512_maskz_loadu_ps(mask, x + k * stride) : _mm512_setzero_ps();
  };
  for (Index k = 0; k < depth; k += kStep, left += 2 * kTileBytes) {
    __m512i high[16], low[16];
    for (int p = 0; p < 16; ++p) {
      const Parts parts = split_pairs(row_at(k + 2 * p), row_at(k + 2 * p + 1));
      high[p] = parts.high;
      low[p] = parts.low;
    }
    transpose_words(high, reinterpret_cast<std::int32_t*>(left), 16);
    transpose_words(low, reinterpret_cast<std::int32_t*>(left + kTileBytes), 16);
  }
}

// Where the tiles of a panel's step begin.
std::byte* tiles_at(std::byte* right, int column, int steps, int step, int parts) {
  return right + (Index{column / kPanel} * steps + step) * parts * 2 * kTileBytes;
}

// The same piece of a row that the next panel takes: too many rows for the hardware to follow.
void fetch_ahead(const StoredRows& w, Index from, Index bytes) {
  const std::byte* next = w.data + kPanel * w.step + from;
  for (Index line = 0; line < bytes; line += 64) __builtin_prefetch(next + line);
}

// Sixteen columns of bf16, of which `n` exist: they are tiles already, up to their order.
HEADLIGHT_MATRIX void pack_half(const StoredRows& w, Index k, int n, int depth, std::byte* right) {
  for (int x = 0; x < depth; x += kStep, right += 2 * kTileBytes) {
    const auto mask = static_cast<__mmask32>((std::uint64_t{1} << std::min(kStep, depth - x)) - 1);
    __m512i rows[16];
    for (int j = 0; j < 16; ++j) {
      const StoredRows row = w.from(std::min(j, n - 1));
      fetch_ahead(row, 2 * (k + x), kTileRow);
      rows[j] = j < n ? _mm512_maskz_loadu_epi16(mask, row.data + 2 * (k + x)) : _mm512_setzero_si512();
    }
    transpose_words(rows, reinterpret_cast<std::int32_t*>(right), 16);
  }
}

// Sixteen columns of any other type.
HEADLIGHT_MATRIX void pack_wide_half(const StoredRows& w, Index k, int n, int depth, std::byte* right) {
  alignas(64) float wide[16 * kStoredDepth];
  const StoredKernels& stored = stored_kernels_for(SimdTarget::avx512);
  const bool as_it_is = w.type == StoredType::f32;
  for (int j = 0; !as_it_is && j < n; ++j) stored.widen(w.from(j), k, depth, wide + j * kStoredDepth);
  const auto column = [&](int j) {
    return as_it_is ? reinterpret_cast<const float*>(w.from(j).data) + k : wide + j * kStoredDepth;
  };
  for (int x = 0; x < depth; x += kStep, right += 4 * kTileBytes) {
    __m512i high[16], low[16];
    for (int j = 0; j < 16; ++j) {
      const Parts parts = j < n ? split_floats(column(j) + x, depth - x)
                                : Parts{_mm512_setzero_si512(), _mm512_setzero_si512()};
      high[j] = parts.high;
      low[j] = parts.low;
    }
    transpose_words(high, reinterpret_cast<std::int32_t*>(right), 16);
    transpose_words(low, reinterpret_cast<std::int32_t*>(right + 2 * kTileBytes), 16);
  }
}

void pack_right(const StoredRows& w, Index k, int columns, int depth, std::byte* right) {
  const int parts = MatrixKernels::parts_of(w.type), steps = static_cast<int>(MatrixKernels::steps_of(depth));
  const auto pack = w.type == StoredType::bf16 ? pack_half : pack_wide_half;
  for (int column = 0; column < columns; column += kPanel) {
    std::byte* panel = tiles_at(right, column, steps, 0, parts);
    for (int half = 0; half < 2; ++half) {
      const int n = std::clamp(columns - column - 16 * half, 0, 16);
      if (n > 0) pack(w.from(column + 16 * half), k, n, depth, panel + half * kTileBytes);
      else  // nobody looks at these columns; they are only kept from being anything
        for (int step = 0; step < steps * parts; ++step)
          std::memset(panel + (2 * step + half) * kTileBytes, 0, kTileBytes);
    }
  }
}

HEADLIGHT_MATRIX void pack_right_in_out(const StoredRows& w, Index first, int columns, int depth,
                                        std::byte* right) {
  const StoredKernels& stored = stored_kernels_for(SimdTarget::avx512);
  const int parts = MatrixKernels::parts_of(w.type), steps = static_cast<int>(MatrixKernels::steps_of(depth));
  alignas(64) float pair[2][kPanel];
  for (int k = 0; k < steps * kStep; k += 2) {
    for (int column = 0; column < columns; column += kPanel) {
      const int n = std::min(kPanel, columns - column);
      const float *even = pair[0], *odd = pair[1];
      if (w.type == StoredType::f32 && n == kPanel && k + 1 < depth) {  // as they lie
        even = reinterpret_cast<const float*>(w.from(k).data) + first + column;
        odd = reinterpret_cast<const float*>(w.from(k + 1).data) + first + column;
      } else {
        std::memset(pair, 0, sizeof pair);
        for (int i = 0; i < 2 && k + i < depth; ++i) stored.widen(w.from(k + i), first + column, n, pair[i]);
      }
      std::byte* tiles = tiles_at(right, column, steps, k / kStep, parts) + k % kStep / 2 * kTileRow;
      for (int half = 0; half < 2; ++half, tiles += kTileBytes) {
        const Parts both = split_pairs(_mm512_loadu_ps(even + 16 * half), _mm512_loadu_ps(odd + 16 * half));
        _mm512_storeu_si512(tiles, both.high);
        if (parts == 2) _mm512_storeu_si512(tiles + 2 * kTileBytes, both.low);
      }
    }
  }
}

// ---- Multiplying --------------------------------------------------------------------------------------

struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfig kTileConfig;

// What the compiler cannot know: tiles are loaded from memory, so memory has to be what the source says.
inline void settle_memory() { asm volatile("" ::: "memory"); }

// One or two strips times a panel. Tiles 0 to 3 are c; 4 and 5 the strips, 6 and 7 the halves of the panel.
template <int kStrips, int kParts>
HEADLIGHT_MATRIX void multiply_tiles(const MatrixBlock& job, const std::byte* left, const std::byte* right,
                                     float* c, Index c_stride, const float* bias) {
  const Index step = c_stride * Index{sizeof(float)};
  if (job.accumulate || bias != nullptr) {
    // A bias is a c all of whose rows are the same.
    const float* from = job.accumulate ? c : bias;
    const Index from_step = job.accumulate ? step : 0;
    const float* second = from + kStrip * (job.accumulate ? c_stride : 0);
    _tile_loadd(0, from, from_step);
    _tile_loadd(1, from + 16, from_step);
    if constexpr (kStrips == 2) {
      _tile_loadd(2, second, from_step);
      _tile_loadd(3, second + 16, from_step);
    }
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const std::byte* left2 = left + job.left_steps * 2 * kTileBytes;
  for (int s = 0; s < job.steps;
       ++s, left += 2 * kTileBytes, left2 += 2 * kTileBytes, right += kParts * 2 * kTileBytes) {
    _tile_loadd(4, left + kTileBytes, kTileRow);
    _tile_loadd(6, right, kTileRow);
    _tile_loadd(7, right + kTileBytes, kTileRow);
    if constexpr (kStrips == 2) _tile_loadd(5, left2 + kTileBytes, kTileRow);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (kStrips == 2) {
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    _tile_loadd(4, left, kTileRow);
    if constexpr (kStrips == 2) _tile_loadd(5, left2, kTileRow);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (kStrips == 2) {
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    if constexpr (kParts == 2) {
      _tile_loadd(6, right + 2 * kTileBytes, kTileRow);
      _tile_loadd(7, right + 3 * kTileBytes, kTileRow);
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      if constexpr (kStrips == 2) {
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
      }
    }
  }
  _tile_stored(0, c, step);
  _tile_stored(1, c + 16, step);
  if constexpr (kStrips == 2) {
    _tile_stored(2, c + kStrip * c_stride, step);
    _tile_stored(3, c + kStrip * c_stride + 16, step);
  }
}

using Multiply = void (*)(const MatrixBlock&, const std::byte*, const std::byte*, float*, Index,
                          const float*);

// At an edge the same is done beside c, with what exists of it.
void multiply_edge(const MatrixBlock& job, Multiply tiles, const std::byte* left, const std::byte* right,
                   int row, int column, int rows, int columns) {
  alignas(64) float whole[2 * kStrip * kPanel] = {};
  alignas(64) float bias[kPanel] = {};
  const auto bytes = sizeof(float) * static_cast<std::size_t>(columns);
  if (job.bias != nullptr) std::memcpy(bias, job.bias + column, bytes);
  for (int r = 0; job.accumulate && r < rows; ++r)
    std::memcpy(whole + r * kPanel, job.c + (row + r) * job.c_stride + column, bytes);
  settle_memory();
  tiles(job, left, right, whole, kPanel, job.bias != nullptr ? bias : nullptr);
  for (int r = 0; r < rows; ++r)
    std::memcpy(job.c + (row + r) * job.c_stride + column, whole + r * kPanel, bytes);
}

HEADLIGHT_MATRIX void multiply(const MatrixBlock& job) {
  const Multiply one = job.parts == 1 ? multiply_tiles<1, 1> : multiply_tiles<1, 2>;
  const Multiply two = job.parts == 1 ? multiply_tiles<2, 1> : multiply_tiles<2, 2>;
  settle_memory();
  _tile_loadconfig(&kTileConfig);
  // A pair of strips stays in the first cache, and meets panel after panel out of the second.
  for (int row = 0; row < job.rows; row += 2 * kStrip) {
    const std::byte* left = job.left + row / kStrip * job.left_steps * 2 * kTileBytes;
    const int rows = std::min(2 * kStrip, job.rows - row);
    const Multiply tiles = rows > kStrip ? two : one;
    for (int column = 0; column < job.columns; column += kPanel) {
      const std::byte* right = job.right + Index{column / kPanel} * job.steps * job.parts * 2 * kTileBytes;
      const int columns = std::min(kPanel, job.columns - column);
      if (rows % kStrip == 0 && columns == kPanel) {
        tiles(job, left, right, job.c + row * job.c_stride + column, job.c_stride,
              job.bias == nullptr ? nullptr : job.bias + column);
      } else {
        multiply_edge(job, tiles, left, right, row, column, rows, columns);
      }
    }
  }
  _tile_release();
}

// The CPU has the unit, and the system lets this process use it: it has to be asked, once.
bool is_here() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kTiles = 1U << 24, kBf16 = 1U << 22;
  if ((d & kTiles) == 0 || (d & kBf16) == 0 || __builtin_cpu_supports("avx512bf16") == 0) return false;
  constexpr long kAsk = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kAsk, kTileData) == 0;
}

}  // namespace

const MatrixKernels* matrix_kernels_for(SimdTarget target) {
  static const bool here = is_here();
  static constexpr MatrixKernels kKernels = {pack_left, pack_left_transposed, pack_right, pack_right_in_out,
                                             multiply};
  return here && target == SimdTarget::avx512 ? &kKernels : nullptr;
}

}  // namespace headlight::kernels

#else

namespace headlight::kernels {
const MatrixKernels* matrix_kernels_for(SimdTarget /*target*/) { return nullptr; }
}  // namespace headlight::kernels

#endif
