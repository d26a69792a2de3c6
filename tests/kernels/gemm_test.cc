// Products of packed blocks on every SIMD target against plain loops: at whole and cut tiles, with nothing to do, and with
// pointers that are null because nothing is there. Both compilers' undefined-behaviour sanitizers refuse what C forbids at a
// null pointer; that of clang also refuses arithmetic on one.
#include "kernels/gemm.h"

#include <cmath>
#include <vector>

#include "kernel_test.h"
#include "support/random.h"

namespace headlight::testing {
namespace {

using kernels::BlockProduct;
using kernels::GemmKernels;

class Gemm : public ::testing::TestWithParam<SimdTarget> {
 protected:
  template <class T>
  [[nodiscard]] const GemmKernels<T>& of() const {
    return kernels::gemm_kernels_for(GetParam()).of<T>();
  }
};

enum class Extra { none, bias, accumulate };

template <class T>
std::vector<T> numbers(int n, std::uint64_t seed) {
  Random random(seed);
  std::vector<T> x;
  for (int i = 0; i < n; ++i) x.push_back(static_cast<T>(random.normal()));
  return x;
}
int rounded_up(int n, int to) { return (n + to - 1) / to * to; }

// A product of matrices that lie together, packed here.
template <class T>
void check(const GemmKernels<T>& k, int rows, int columns, int depth, Extra extra) {
  const std::vector<T> a = numbers<T>(rows * depth, 1), b = numbers<T>(depth * columns, 2),
                       bias = numbers<T>(columns, 3), before = numbers<T>(rows * columns, 4);
  Aligned<T> left(rounded_up(rows, k.strip) * depth), right(rounded_up(columns, k.panel) * depth);
  k.pack_left(a.data(), depth, rows, depth, left.data());
  k.pack_right(b.data(), columns, columns, depth, right.data());
  std::vector<T> c = before;
  BlockProduct<T> block{rows,     columns, depth, left.data(), right.data(), Index{k.panel} * depth,
                        c.data(), columns};
  if (extra == Extra::bias) block.bias = bias.data();
  block.accumulate = extra == Extra::accumulate;
  k.multiply_block(block);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      const auto at = static_cast<std::size_t>(i * columns + j);
      double sum = extra == Extra::bias         ? static_cast<double>(bias[static_cast<std::size_t>(j)])
                   : extra == Extra::accumulate ? static_cast<double>(before[at])
                                                : 0;
      double size = std::abs(sum);
      for (int d = 0; d < depth; ++d) {
        const double term = static_cast<double>(a[static_cast<std::size_t>(i * depth + d)]) *
                            static_cast<double>(b[static_cast<std::size_t>(d * columns + j)]);
        sum += term;
        size += std::abs(term);
      }
      const double unit = sizeof(T) == 4 ? 0x1p-23 : 0x1p-51;
      ASSERT_NEAR(static_cast<double>(c[at]), sum, unit * (depth + 2) * size)
          << rows << "x" << columns << "x" << depth << " at " << i << "," << j;
    }
  }
}

// Two whole panels and a cut one: where the second begins, a bias that is not there must not be counted from.
TEST_P(Gemm, BlocksAreRightWithAndWithoutABias) {
  const auto check_all = [](const auto& k) {
    for (const int rows : {1, k.strip, 2 * k.strip + 1})
      for (const int columns : {1, k.panel, 2 * k.panel, 2 * k.panel + 3})
        for (const int depth : {1, 5, 70})
          for (const Extra extra : {Extra::none, Extra::bias, Extra::accumulate})
            check(k, rows, columns, depth, extra);
  };
  check_all(of<float>());
  check_all(of<double>());
}

TEST_P(Gemm, NoDepthLeavesTheBias) {
  const auto check_all = [](const auto& k) {
    for (const Extra extra : {Extra::none, Extra::bias, Extra::accumulate})
      for (const int columns : {3, 2 * k.panel}) check(k, k.strip + 1, columns, 0, extra);
  };
  check_all(of<float>());
  check_all(of<double>());
}

// Nothing by nothing: every pointer may be null.
template <class T>
void check_nothing(const GemmKernels<T>& k) {
  k.pack_left(nullptr, 0, 0, 5, nullptr);
  k.pack_left_transposed(nullptr, 0, 0, 5, nullptr);
  k.pack_left(nullptr, 0, 5, 0, nullptr);
  k.pack_left_transposed(nullptr, 0, 5, 0, nullptr);
  k.pack_right(nullptr, 0, 0, 5, nullptr);
  k.pack_right_transposed(nullptr, 0, 0, 5, nullptr);
  k.pack_right(nullptr, 0, 5, 0, nullptr);
  k.pack_right_transposed(nullptr, 0, 5, 0, nullptr);
  k.multiply_block({0, 3 * k.panel, 5, nullptr, nullptr, 0, nullptr, 0});
  k.multiply_block({3 * k.strip, 0, 5, nullptr, nullptr, 0, nullptr, 0});
  std::vector<T> c(static_cast<std::size_t>(2 * k.strip * 2 * k.panel), T{7});
  k.multiply_block({2 * k.strip, 2 * k.panel, 0, nullptr, nullptr, 0, c.data(), 2 * k.panel});
  for (const T x : c) ASSERT_EQ(x, T{0});
}
TEST_P(Gemm, NothingTimesNothing) {
  check_nothing(of<float>());
  check_nothing(of<double>());
}

INSTANTIATE_TEST_SUITE_P(Targets, Gemm, ::testing::ValuesIn(supported_targets()), target_name);

}  // namespace
}  // namespace headlight::testing
