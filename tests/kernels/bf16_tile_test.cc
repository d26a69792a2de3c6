// Attention in bf16 on one tile: a row's sums have the same bits alone as in the middle of others that see other keys, whether
// its strip is multiplied by AVX-512 or by the matrix unit. (Outputs are rounded to 16 bits, so calls could not show it.)
#include "kernels/bf16_tile.h"

#include "tile_fixture.h"

namespace headlight::testing {
namespace {

constexpr int kRows = 70, kKeys = 200, kDim = 40, kColumns = 48;

struct Packed {
  std::vector<std::uint16_t> q, k, v;
  Aligned<float> rows, keys, values;

  explicit Packed(const kernels::AttentionKernels<float>& table)
      : rows(kRows * kDim), keys((kKeys + 32) * kDim), values(64 * kKeys, std::nan("")) {
    Random random(7);
    const auto draw = [&](std::vector<std::uint16_t>& x, int n) {
      for (int i = 0; i < n; ++i) x.push_back(to_bf16(random.normal()).bits);
    };
    draw(q, kRows * kDim);
    draw(k, kKeys * kDim);
    draw(v, kKeys * kColumns);
    for (int r = 0; r < kRows; ++r)
      table.load_row(q.data() + r * kDim, DType::bf16, kDim, 1, rows.data() + Index{r} * kDim);
    table.pack_keys(k.data(), DType::bf16, kDim, kKeys, kDim, keys.data());
    table.pack_values(v.data(), DType::bf16, kColumns, kKeys, kColumns, values.data());
  }
};

// Sums of rows first … first+count-1, row r of which sees a window of keys that moves with it.
State<float> absorbed(const kernels::AttentionKernels<float>& table, Packed& x, int first, int count) {
  Aligned<float> scores(kMaxRows * (kMaxTileKeys + 16), std::nan(""));
  std::vector<std::int32_t> begin, end;
  for (int r = first; r < first + count; ++r) {
    begin.push_back(r);
    end.push_back(std::min(kKeys, r + 101));
  }
  kernels::Tile<float> tile;
  tile.rows = count;
  tile.dim = kDim;
  tile.value_dim = kColumns;
  tile.q = x.rows.data() + Index{first} * kDim;
  tile.q_stride = kDim;
  tile.factor = 0.25F;
  tile.keys = x.keys.data();
  tile.values = x.values.data();
  tile.value_stride = table.panel;
  tile.value_panel_stride = kKeys * table.panel;
  tile.begin = begin.data();
  tile.end = end.data();
  tile.scores = scores.data();
  tile.scores_stride = kMaxTileKeys + 16;
  State<float> state(kColumns);
  table.absorb(tile, state.view(), {.fresh = true});
  return state;
}

void check(const kernels::AttentionKernels<float>* table) {
  if (table == nullptr) GTEST_SKIP() << "this CPU has no such products";
  Packed x(*table);
  const State<float> together = absorbed(*table, x, 0, kRows);
  for (int r = 0; r < kRows; ++r) {
    const State<float> alone = absorbed(*table, x, r, 1);
    ASSERT_TRUE(same_bits(alone.sum[0], together.sum[r])) << "sum of row " << r;
    for (Index j = 0; j < kColumns; ++j)
      ASSERT_TRUE(same_bits(alone.acc[j], together.acc[r * together.stride + j]))
          << "row " << r << " column " << j;
  }
}

TEST(Bf16Tile, RowsHaveTheSameBitsAloneOnTheMatrixUnit) {
  check(kernels::matrix_attention_for(SimdTarget::avx512));
}
TEST(Bf16Tile, RowsHaveTheSameBitsAloneInDotProducts) {
  check(kernels::bf16_dots_attention_for(SimdTarget::avx512));
}

}  // namespace
}  // namespace headlight::testing
