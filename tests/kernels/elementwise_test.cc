// Element and row kernels of every SIMD target against plain formulas in double, at awkward lengths.
#include <cmath>
#include <limits>
#include <vector>

#include "kernel_test.h"
#include "support/random.h"

namespace headlight::testing {
namespace {

using kernels::Curve;

constexpr Index kLengths[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 67, 130};

double curve(Curve kind, double x) {
  switch (kind) {
    case Curve::relu: return x > 0 ? x : 0;
    case Curve::gelu: return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case Curve::gelu_tanh: return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Curve::silu: return x / (1 + std::exp(-x));
    case Curve::tanh: return std::tanh(x);
    case Curve::sigmoid: return 1 / (1 + std::exp(-x));
  }
  return 0;
}
double slope(Curve kind, double x) {
  if (kind == Curve::relu) return x > 0 ? 1 : 0;
  const double h = 1e-5;
  return (curve(kind, x + h) - curve(kind, x - h)) / (2 * h);
}

template <class T>
void check_curves(const kernels::ElementKernels<T>& k, double tight) {
  Random random(1);
  for (const Curve kind :
       {Curve::relu, Curve::gelu, Curve::gelu_tanh, Curve::silu, Curve::tanh, Curve::sigmoid})
    for (const Index n : kLengths) {
      std::vector<T> x, y(static_cast<std::size_t>(n)), dy, dx(y.size()), sums(y.size(), T{1}), up,
          dup(y.size());
      for (Index i = 0; i < n; ++i) {
        x.push_back(static_cast<T>(random.normal() * 4)), dy.push_back(static_cast<T>(random.normal()));
        up.push_back(static_cast<T>(random.normal()));
      }
      k.apply(kind, {1, n, x.data(), 0, y.data(), 0});
      k.pull_back(kind, {1, n, x.data(), 0, dy.data(), 0, dx.data(), 0, sums.data()});
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double at = static_cast<double>(x[i]);
        ASSERT_NEAR(static_cast<double>(y[i]), curve(kind, at), tight * (1 + std::abs(at)))
            << at << " " << int(kind);
        const double wanted = static_cast<double>(dy[i]) * slope(kind, at);
        ASSERT_NEAR(static_cast<double>(dx[i]), wanted, 20 * tight + 1e-9) << at << " " << int(kind);
        ASSERT_EQ(sums[i], T{1} + dx[i]);
      }
      k.gate(kind, {1, n, x.data(), up.data(), 0, y.data(), 0});
      k.gate_back(kind, {1, n, x.data(), up.data(), 0, dy.data(), 0, dx.data(), dup.data(), 0});
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double at = static_cast<double>(x[i]), u = static_cast<double>(up[i]),
                     d = static_cast<double>(dy[i]);
        ASSERT_NEAR(static_cast<double>(y[i]), curve(kind, at) * u,
                    tight * (1 + std::abs(at)) * (1 + std::abs(u)));
        ASSERT_NEAR(static_cast<double>(dx[i]), d * u * slope(kind, at),
                    40 * tight * (1 + std::abs(d * u)) + 1e-9);
        ASSERT_NEAR(static_cast<double>(dup[i]), d * curve(kind, at),
                    tight * (1 + std::abs(at)) * (1 + std::abs(d)));
      }
    }
}

class Elements : public ::testing::TestWithParam<SimdTarget> {};

TEST_P(Elements, CurvesAndGates) {
  check_curves<float>(kernels::element_kernels_for(GetParam()).f32, 3e-7);
  check_curves<double>(kernels::element_kernels_for(GetParam()).f64, 1e-14);
}

TEST_P(Elements, CurvesFarOut) {
  const auto& k = kernels::element_kernels_for(GetParam()).f32;
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x = {-1e30f, -200, -20, 0, 20, 200, 1e30f, nan};
  for (const Curve kind : {Curve::relu, Curve::gelu, Curve::gelu_tanh, Curve::silu}) {
    std::vector<float> y(x.size());
    k.apply(kind, {1, static_cast<Index>(x.size()), x.data(), 0, y.data(), 0});
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(y[static_cast<std::size_t>(i)], 0, 1e-7) << int(kind) << " " << i;
    EXPECT_EQ(y[3], 0);
    for (std::size_t i = 4; i < 7; ++i) EXPECT_FLOAT_EQ(y[i], x[i]) << int(kind) << " " << i;
    EXPECT_TRUE(std::isnan(y[7])) << int(kind);
  }
  const std::vector<float> ends = {-inf, inf};
  std::vector<float> y(2);
  k.apply(Curve::sigmoid, {1, 2, ends.data(), 0, y.data(), 0});
  EXPECT_EQ(y, (std::vector<float>{0, 1}));
}

TEST_P(Elements, DropoutIsTheWordsOfItsPlace) {
  const auto& k = kernels::element_kernels_for(GetParam()).f32;
  const DropoutKey key = DropoutKey::of(0.4, 3, 5);
  for (const Index n : {Index{1}, Index{5}, Index{255}, Index{257}, Index{700}}) {
    std::vector<float> x(static_cast<std::size_t>(n), 1), y(x.size()), add(x.size(), 10);
    k.drop(key, 2, 77, x.data(), nullptr, y.data(), n);
    for (Index i = 0; i < n; ++i)
      ASSERT_EQ(y[static_cast<std::size_t>(i)], key.keeps(0, 0, 77, i) ? 2 : 0) << i;
    k.drop(key, 2, 77, x.data(), add.data(), x.data(), n);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], y[i] + 10);
  }
}

template <class T>
void check_norms(const kernels::RowKernels<T>& k, double limit) {
  Random random(2);
  for (const Index n : kLengths)
    for (const bool centered : {true, false}) {
      std::vector<T> x, weight, bias, y(static_cast<std::size_t>(n)), mean(1), rstd(1);
      double m = 0, square = 0;
      for (Index i = 0; i < n; ++i) {
        x.push_back(static_cast<T>(3 + random.normal())), weight.push_back(static_cast<T>(random.normal()));
        bias.push_back(static_cast<T>(random.normal()));
        m += centered ? static_cast<double>(x.back()) / static_cast<double>(n) : 0;
      }
      for (const T v : x)
        square += (static_cast<double>(v) - m) * (static_cast<double>(v) - m) / static_cast<double>(n);
      kernels::NormRows<T> rows;
      rows.rows = 1, rows.width = n, rows.x = x.data(), rows.y = y.data(), rows.weight = weight.data();
      rows.bias = bias.data(), rows.mean = mean.data(), rows.rstd = rstd.data(),
      rows.eps = static_cast<T>(1e-3);
      rows.centered = centered;
      k.norm(rows);
      const double scale = 1 / std::sqrt(square + 1e-3);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double wanted = (static_cast<double>(x[i]) - m) * scale * static_cast<double>(weight[i]) +
                              static_cast<double>(bias[i]);
        ASSERT_NEAR(static_cast<double>(y[i]), wanted, limit * (1 + scale)) << n;
      }
    }
}

TEST_P(Elements, Norms) {
  check_norms<float>(kernels::row_kernels_for(GetParam()).f32, 3e-6);
  check_norms<double>(kernels::row_kernels_for(GetParam()).f64, 1e-13);
}

TEST_P(Elements, LossOfLargeLogits) {
  const auto& k = kernels::row_kernels_for(GetParam()).f32;
  for (const Index n : kLengths) {
    std::vector<float> z(static_cast<std::size_t>(n));
    Random random(static_cast<std::uint64_t>(n));
    double sum = 0;
    for (float& x : z) x = static_cast<float>(1000 + 10 * random.normal());
    const std::vector<float> before = z;
    const Index target = n / 2;
    const double top = static_cast<double>(*std::max_element(z.begin(), z.end()));
    for (const float x : z) sum += std::exp(static_cast<double>(x) - top);
    const double lse = top + std::log(sum),
                 at = static_cast<double>(before[static_cast<std::size_t>(target)]);
    const kernels::LossValue value = k.loss({z.data(), n, target, 0, 0, 1, true});
    EXPECT_NEAR(value.plain, lse - at, 1e-4);
    EXPECT_EQ(value.correct, at == top);
    for (std::size_t i = 0; i < z.size(); ++i) {
      const double p =
          std::exp(static_cast<double>(before[i]) - lse) - (static_cast<Index>(i) == target ? 1 : 0);
      ASSERT_NEAR(static_cast<double>(z[i]), p, 1e-5) << n;
    }
    std::vector<float> logs(before.size());
    k.log_softmax(before.data(), logs.data(), n);
    for (std::size_t i = 0; i < z.size(); ++i)
      ASSERT_NEAR(static_cast<double>(logs[i]), static_cast<double>(before[i]) - lse, 2e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Elements, ::testing::ValuesIn(supported_targets()),
                         [](const auto& row) { return std::string(name_of(row.param)); });

}  // namespace
}  // namespace headlight::testing
