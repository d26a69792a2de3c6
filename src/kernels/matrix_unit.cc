// See matrix_unit.h for the legend. One CPU family only, so no table of targets.
#include "kernels/matrix_unit.h"

#include "kernels/matrix_pack.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEADLIGHT_MATRIX __attribute__((target("amx-tile,amx-bf16")))

namespace headlight::kernels {
namespace {

constexpr int kStrip = MatrixKernels::kStrip;
constexpr Index kTileBytes = MatrixKernels::kTileBytes;
constexpr int kTileRow = 64;  // bytes

struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfig kTileConfig;

// The compiler does not see that tiles are loaded from memory: forces pending stores to memory.
inline void settle_memory() { asm volatile("" ::: "memory"); }

// c += strips · halves of the panel.
template <int kStrips>
HEADLIGHT_MATRIX inline void multiply_loaded() {
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  if constexpr (kStrips == 2) {
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}

// One or two strips times a panel. Tiles 0 to 3 are c; 4 and 5 the strips, 6 and 7 the halves of the panel.
template <int kStrips, int kLeftParts, int kRightParts>
HEADLIGHT_MATRIX void multiply_tiles(const MatrixBlock& job, const std::byte* left, const std::byte* right,
                                     float* c, Index c_stride, const float* bias) {
  settle_memory();
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
  const std::byte* left2 = left + job.left_steps * kLeftParts * kTileBytes;
  for (int s = 0; s < job.steps; ++s, left += kLeftParts * kTileBytes, left2 += kLeftParts * kTileBytes,
           right += kRightParts * 2 * kTileBytes) {
    _tile_loadd(6, right, kTileRow);
    _tile_loadd(7, right + kTileBytes, kTileRow);
    if constexpr (kLeftParts == 2) {
      _tile_loadd(4, left + kTileBytes, kTileRow);
      if constexpr (kStrips == 2) _tile_loadd(5, left2 + kTileBytes, kTileRow);
      multiply_loaded<kStrips>();
    }
    _tile_loadd(4, left, kTileRow);
    if constexpr (kStrips == 2) _tile_loadd(5, left2, kTileRow);
    multiply_loaded<kStrips>();
    if constexpr (kRightParts == 2) {
      _tile_loadd(6, right + 2 * kTileBytes, kTileRow);
      _tile_loadd(7, right + 3 * kTileBytes, kTileRow);
      multiply_loaded<kStrips>();
    }
  }
  _tile_stored(0, c, step);
  _tile_stored(1, c + 16, step);
  if constexpr (kStrips == 2) {
    _tile_stored(2, c + kStrip * c_stride, step);
    _tile_stored(3, c + kStrip * c_stride + 16, step);
  }
  settle_memory();
}

HEADLIGHT_MATRIX void multiply(const MatrixBlock& job) {
  settle_memory();
  _tile_loadconfig(&kTileConfig);
  if (job.left_parts == 1) for_tiles(job, multiply_tiles<1, 1, 1>, multiply_tiles<2, 1, 1>);
  else if (job.right_parts == 1) for_tiles(job, multiply_tiles<1, 2, 1>, multiply_tiles<2, 2, 1>);
  else for_tiles(job, multiply_tiles<1, 2, 2>, multiply_tiles<2, 2, 2>);
  _tile_release();
}

// Whether the CPU has the unit and the system lets this process use it, which must be requested once.
bool is_here() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kTiles = 1U << 24, kBf16 = 1U << 22;
  if ((d & kTiles) == 0 || (d & kBf16) == 0 || !has_bf16_dots()) return false;
  constexpr long kAsk = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kAsk, kTileData) == 0;
}

}  // namespace

const MatrixKernels* matrix_kernels_for(SimdTarget target) {
  static const bool here = is_here();
  static const MatrixKernels kernels = with_packing(multiply);
  return here && target == SimdTarget::avx512 ? &kernels : nullptr;
}

}  // namespace headlight::kernels

#else

namespace headlight::kernels {
const MatrixKernels* matrix_kernels_for(SimdTarget /*target*/) { return nullptr; }
}  // namespace headlight::kernels

#endif
