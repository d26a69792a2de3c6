#include "kernels/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/kernel_test.h"
#include "support/random.h"

namespace headlight {
namespace {

class Optimizer : public ::testing::TestWithParam<SimdTarget> {
 protected:
  const kernels::OptimizerKernels& kernels_ = kernels::optimizer_kernels_for(GetParam());
};

struct Numbers {
  std::vector<float> value, grad, m, v, averaged;
  Numbers(std::int64_t n, std::uint64_t seed) {
    testing::Random random(seed);
    for (auto* list : {&value, &grad, &m, &averaged})
      for (std::int64_t i = 0; i < n; ++i) list->push_back(static_cast<float>(random.normal()));
    for (std::int64_t i = 0; i < n; ++i) v.push_back(static_cast<float>(random.uniform()));
  }
  kernels::AdamPiece piece(bool average, std::size_t begin, std::size_t end) {
    return {value.data() + begin,
            grad.data() + begin,
            m.data() + begin,
            v.data() + begin,
            average ? averaged.data() + begin : nullptr,
            static_cast<std::int64_t>(end - begin)};
  }
};

constexpr kernels::AdamNumbers kNumbers = {0.5F, 0.9F, 0.99F, 0.999F, 0.01F, 1.25F, 1e-8F, 0.75F};

TEST_P(Optimizer, FollowsTheFormula) {
  for (const bool average : {false, true}) {
    for (const std::int64_t n : {0, 1, 3, 4, 7, 8, 15, 16, 17, 33, 1000}) {
      Numbers x(n, static_cast<std::uint64_t>(n));
      const Numbers before = x;
      kernels_.adam(kNumbers, x.piece(average, 0, static_cast<std::size_t>(n)));
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        const double g = 0.5 * before.grad[i], m = 0.9F * before.m[i] + (1 - 0.9F) * g,
                     v = 0.99F * before.v[i] + (1 - 0.99F) * g * g,
                     value = 0.999F * before.value[i] - 0.01F * m / (std::sqrt(v) * 1.25 + 1e-8F);
        EXPECT_NEAR(x.m[i], m, 1e-6);
        EXPECT_NEAR(x.v[i], v, 1e-6);
        EXPECT_NEAR(x.value[i], value, 1e-6 * (1 + std::abs(value)));
        EXPECT_EQ(x.grad[i], 0);
        if (average) EXPECT_NEAR(x.averaged[i], 0.75 * before.averaged[i] + 0.25 * x.value[i], 1e-6);
        else EXPECT_EQ(x.averaged[i], before.averaged[i]);
      }
    }
  }
}

TEST_P(Optimizer, CutsDoNotMatter) {
  Numbers whole(100, 7), parts = whole;
  kernels_.adam(kNumbers, whole.piece(true, 0, 100));
  for (std::size_t begin = 0; begin < 100; begin += 9)
    kernels_.adam(kNumbers, parts.piece(true, begin, std::min<std::size_t>(begin + 9, 100)));
  EXPECT_EQ(whole.value, parts.value);
  EXPECT_EQ(whole.m, parts.m);
  EXPECT_EQ(whole.v, parts.v);
  EXPECT_EQ(whole.averaged, parts.averaged);
}

TEST_P(Optimizer, SquaresAddUp) {
  for (const std::int64_t n : {0, 1, 2, 5, 16, 31, 1000}) {
    const Numbers x(n, 3);
    double sum = 0;
    for (const float g : x.grad) sum += static_cast<double>(g) * g;
    EXPECT_NEAR(kernels_.sum_of_squares(x.grad.data(), n), sum, 1e-12 * (1 + sum));
  }
  const std::vector<float> bad = {1, 2, 3, NAN, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
  EXPECT_TRUE(std::isnan(kernels_.sum_of_squares(bad.data(), 17)));
}

INSTANTIATE_TEST_SUITE_P(Targets, Optimizer, ::testing::ValuesIn(supported_targets()), testing::target_name);

}  // namespace
}  // namespace headlight
