// The matrix unit's product, bit for bit as kernels/matrix_strip.h says: steps of 16 pairs, even and odd elements apart.
// Whatever lies behind the depth, the rows or the columns is neither read into the result nor written.
#include "kernels/matrix_strip.h"

#if defined(__x86_64__) && defined(__linux__)

#include <cmath>
#include <cstring>
#include <limits>

#include "kernel_test.h"
#include "kernels/matrix_unit.h"
#include "support/random.h"

namespace headlight::testing {
namespace {

using kernels::kBf16Panel;
using kernels::kMatrixRows;
using kernels::kStepPairs;
using kernels::MatrixStrip;
using kernels::Pair;

constexpr int kDepth = 80, kStride = kDepth + 3, kColumns = 48;  // of c: more than are written
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

float from_bf16(std::uint32_t bits) {
  const std::uint32_t word = bits << 16;
  float x = 0;
  std::memcpy(&x, &word, sizeof x);
  return x;
}
float even(Pair pair) { return from_bf16(pair & 0xFFFF); }
float odd(Pair pair) { return from_bf16(pair >> 16); }

Pair random_pair(Random& random) {
  const auto one = [&] {
    const auto x = static_cast<float>(random.normal());
    std::uint32_t word = 0;
    std::memcpy(&word, &x, sizeof word);
    return word >> 16;
  };
  const std::uint32_t first = one();
  return first | one() << 16;
}

struct Operands {
  std::vector<Pair> a, b;
  std::vector<float> c, alpha;

  // NaN wherever a product of these sizes has nothing to read.
  Operands(Random& random, int rows, int pairs)
      : a(kMatrixRows * kStride, 0x7FC07FC0), b(kDepth * kBf16Panel, 0x7FC07FC0), c(kMatrixRows * kColumns) {
    for (int r = 0; r < rows; ++r)
      for (int p = 0; p < pairs; ++p) a[static_cast<std::size_t>(r * kStride + p)] = random_pair(random);
    for (int i = 0; i < pairs * kBf16Panel; ++i) b[static_cast<std::size_t>(i)] = random_pair(random);
    for (float& x : c) x = static_cast<float>(random.normal());
    for (int r = 0; r < rows; ++r) alpha.push_back(static_cast<float>(random.uniform()));
  }

  [[nodiscard]] float product(int r, int x, int pairs) const {
    float sum = 0;
    for (int first = 0; first < pairs; first += kStepPairs) {
      float evens = 0, odds = 0;
      for (int p = first; p < std::min(pairs, first + kStepPairs); ++p) {
        const Pair left = a[static_cast<std::size_t>(r * kStride + p)],
                   right = b[static_cast<std::size_t>(p * kBf16Panel + x)];
        evens = std::fma(even(left), even(right), evens);
        odds = std::fma(odd(left), odd(right), odds);
      }
      sum += evens + odds;
    }
    return sum;
  }
};

void check(int rows, int columns, int pairs, bool add, std::uint64_t seed) {
  Random random(seed);
  Operands x(random, rows, pairs);
  std::vector<float> expected = x.c;
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < columns; ++j) {
      float& c = expected[static_cast<std::size_t>(r * kColumns + j)];
      const float product = x.product(r, j, pairs);
      c = add ? std::fma(c, x.alpha[static_cast<std::size_t>(r)], product) : product * 0.125F;
    }
  }
  kernels::set_matrix_rows(rows);
  kernels::multiply_on_matrix_unit({.rows = rows,
                                    .columns = columns,
                                    .pairs = pairs,
                                    .a = x.a.data(),
                                    .a_stride = kStride,
                                    .b = x.b.data(),
                                    .c = x.c.data(),
                                    .c_stride = kColumns,
                                    .alpha = add ? x.alpha.data() : nullptr,
                                    .factor = 0.125F});
  kernels::release_matrix_unit();
  EXPECT_EQ(std::memcmp(x.c.data(), expected.data(), sizeof(float) * expected.size()), 0)
      << rows << " rows, " << columns << " columns, " << pairs << " pairs" << (add ? ", added" : "");
}

TEST(MatrixStrip, HasTheBitsOfItsDefinition) {
  if (kernels::matrix_kernels_for(SimdTarget::avx512) == nullptr)
    GTEST_SKIP() << "this CPU has no matrix unit (AMX)";
  std::uint64_t seed = 1;
  for (const int rows : {1, 2, 7, 16, 17, 31, 32})
    for (const int columns : {16, 32})
      for (const int pairs : {1, 8, 15, 16, 17, 32, 40, 80})
        for (const bool add : {false, true}) check(rows, columns, pairs, add, ++seed);
}

}  // namespace
}  // namespace headlight::testing

#endif
