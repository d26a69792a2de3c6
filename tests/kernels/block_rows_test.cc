// Blocks become floats with the bits of the plain decoders, on every SIMD target, from any part of a row on.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/stored_rows.h"
#include "support/block_matrices.h"

namespace headlight::kernels {
namespace {

StoredRows rows_of(const StoredMatrix& w) {
  return {w.type(), w.data(), row_bytes(w.type(), w.columns()), nullptr};
}

TEST(BlockRows, WidensEveryTypeExactly) {
  for (const SimdTarget target : supported_targets()) {
    for (const StoredType type : testing::block_types()) {
      const Index columns = block_columns(type) == 32 ? 416 : 768;
      const StoredMatrix w = testing::random_blocks(3, columns, type, 7);
      const Tensor wanted = testing::decoded(w);
      for (Index first = 0; first < columns; first += 32) {
        for (const Index n : {Index{32}, Index{96}, columns - first}) {
          if (first + n > columns) continue;
          std::vector<float> found(static_cast<std::size_t>(n));
          stored_kernels_for(target, type)
              .widen(rows_of(w).from(1), first, static_cast<int>(n), found.data());
          ASSERT_EQ(
              std::memcmp(found.data(), wanted.as<float>() + columns + first, found.size() * sizeof(float)),
              0)
              << name_of(target) << ' ' << name_of(type) << ' ' << first << ' ' << n;
        }
      }
    }
  }
}

// Panels of gemm.h: element (k, j) of a panel is column j of x·wᵀ at depth k.
TEST(BlockRows, PacksWhatItWidens) {
  for (const SimdTarget target : supported_targets()) {
    for (const StoredType type : testing::block_types()) {
      const StoredMatrix w = testing::random_blocks(50, 768, type, 9);
      const Tensor wanted = testing::decoded(w);
      const StoredKernels& kernels = stored_kernels_for(target, type);
      // The width of a panel, from where the second row of depth begins.
      for (const Index k : {0, 384}) {
        std::vector<float> panels(128 * 384, -1);
        kernels.pack(rows_of(w), k, 1, 384, panels.data());
        std::size_t panel = 1;
        while (panel < 64 && panels[panel] != wanted.as<float>()[k + 1]) ++panel;
        ASSERT_LT(panel, 64U) << name_of(target);
        kernels.pack(rows_of(w), k, 50, 384, panels.data());
        for (std::size_t c = 0; c < 50; ++c)
          for (std::size_t i = 0; i < 384; ++i)
            ASSERT_EQ(panels[c / panel * panel * 384 + i * panel + c % panel],
                      wanted.as<float>()[c * 768 + static_cast<std::size_t>(k) + i])
                << name_of(target) << ' ' << name_of(type);
      }
    }
  }
}

}  // namespace
}  // namespace headlight::kernels
