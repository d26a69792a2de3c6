// The exponential and the tanh that the softmax really calls. exp2_exhaustive.cc covers all 2^32 floats.
#include <bit>
#include <limits>

#include "kernel_test.h"
#include "support/random.h"
#include "support/ulp.h"

namespace headlight::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

class Math : public KernelTest {
 protected:
  template <class T>
  [[nodiscard]] std::vector<T> exp2(const std::vector<T>& x) const {
    std::vector<T> y(x.size(), T{-1});
    of<T>().exp2(x.data(), static_cast<Index>(x.size()), y.data());
    return y;
  }
  template <class T>
  [[nodiscard]] std::vector<T> tanh(const std::vector<T>& x) const {
    std::vector<T> y(x.size(), T{-7});
    of<T>().tanh(x.data(), static_cast<Index>(x.size()), y.data());
    return y;
  }
};

// Every `stride`-th float between two of one sign, both included.
std::vector<float> floats(float from, float to, std::uint32_t stride) {
  std::vector<float> list;
  const auto last = std::bit_cast<std::uint32_t>(to);
  for (std::uint64_t bits = std::bit_cast<std::uint32_t>(from); bits <= last; bits += stride) {
    list.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  list.push_back(to);
  return list;
}

// Quiet and signalling, both signs, every single payload bit, and some at random.
std::vector<std::uint32_t> all_kinds_of_nan() {
  std::vector<std::uint32_t> list = {0x7FFFFFFFU, 0x7FC00000U};
  for (int bit = 0; bit < 23; ++bit) list.push_back(0x7F800000U | (1U << bit));
  Random random(1);
  for (int n = 0; n < 1000; ++n)
    list.push_back(0x7F800001U + static_cast<std::uint32_t>(random.below(0x7FFFFF)));
  for (std::size_t i = 0, n = list.size(); i < n; ++i) list.push_back(list[i] | 0x80000000U);
  return list;
}

TEST_P(Math, Exp2IsWithinOneUlp) {
  for (const auto& x : {floats(-0.0f, -126.0f, 997), floats(0.0f, 127.0f, 997)}) {
    const std::vector<float> y = exp2(x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_LE(float_ulp_error(y[i], std::exp2(static_cast<double>(x[i]))), 1) << x[i];
    }
  }
}

TEST_P(Math, Exp2IsExactForIntegers) {
  for (int n = -126; n <= 127; ++n) {
    EXPECT_EQ(exp2<float>({static_cast<float>(n)})[0], std::ldexp(1.0f, n)) << n;
  }
  for (int n = -1022; n <= 1023; ++n) {
    EXPECT_EQ(exp2<double>({static_cast<double>(n)})[0], std::ldexp(1.0, n)) << n;
  }
  // In a whole vector as in the rest of one.
  EXPECT_EQ(exp2(std::vector<float>(67, 0.0f)), std::vector<float>(67, 1.0f));
  EXPECT_EQ(exp2(std::vector<float>(67, -0.0f)), std::vector<float>(67, 1.0f));
  EXPECT_EQ(exp2(std::vector<double>(67, -0.0)), std::vector<double>(67, 1.0));
  EXPECT_EQ(exp2<double>({0.0}), std::vector<double>{1.0});
}

// Also not a tiny number: a hidden key must leave no trace.
TEST_P(Math, Exp2OfWhatIsTooSmallIsZero) {
  std::vector<float> x = floats(-126.5f, -kInf, 100'003);
  for (const float y : {-127.0f, std::nextafter(-127.0f, 0.0f), -126.75f, -149.0f, -1e30f,
                        -std::numeric_limits<float>::max()}) {
    x.insert(x.end(), 33, y);
  }
  const std::vector<float> y = exp2(x);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_TRUE(same_bits(y[i], 0.0f)) << x[i] << " gives " << y[i];
  const std::vector<double> far =
      exp2(std::vector<double>{-std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::max(),
                               -1023.0, -1022.5, -1074.0, -1e9});
  for (const double z : far) EXPECT_TRUE(same_bits(z, 0.0)) << z;
}

// Between the smallest normal result and zero: the denormal, to one of its ULP.
TEST_P(Math, Exp2NearTheSmallestNormalNumber) {
  const std::vector<float> x = floats(-126.0f, std::nextafter(-126.5f, 0.0f), 1);
  const std::vector<float> y = exp2(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_LE(float_ulp_error(y[i], std::exp2(static_cast<double>(x[i]))), 1) << x[i];
    ASSERT_LE(y[i], std::numeric_limits<float>::min()) << x[i];
  }
}

TEST_P(Math, NanStaysNan) {
  for (const std::uint32_t bits : all_kinds_of_nan()) {
    for (const std::size_t n : {1, 35}) {
      std::vector<float> x(n);  // copied as bits: assigning could make a signalling NaN quiet
      for (float& to : x) std::memcpy(&to, &bits, sizeof bits);
      for (const float y : exp2(x)) ASSERT_TRUE(std::isnan(y)) << std::hex << bits;
      for (const float y : tanh(x)) ASSERT_TRUE(std::isnan(y)) << std::hex << bits;
    }
    const std::uint64_t wide = (static_cast<std::uint64_t>(bits & 0x80000000U) << 32) | 0x7FF0000000000000U |
                               (static_cast<std::uint64_t>(bits & 0x7FFFFFU) << (bits % 30));
    for (const double y : exp2(std::vector<double>(9, std::bit_cast<double>(wide)))) {
      ASSERT_TRUE(std::isnan(y)) << std::hex << wide;
    }
  }
}

TEST_P(Math, Exp2OfDoublesIsWithinTwoUlp) {
  std::vector<double> x;
  Random random(2);
  for (int n = 0; n < 200'000; ++n) x.push_back(-1022 * random.uniform());
  for (int n = 0; n < 200'000; ++n) x.push_back(-2 * random.uniform());
  for (int n = 0; n < 50'000; ++n)
    x.push_back(-std::ldexp(random.uniform(), -static_cast<int>(random.below(60))));
  const std::vector<double> y = exp2(x);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    worst = std::max(worst, ulp_error(y[i], std::exp2(static_cast<long double>(x[i]))));
  }
  EXPECT_LE(worst, 2);
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST_P(Math, TanhIsWithinAFewUlp) {
  for (const float sign : {1.0f, -1.0f}) {
    const std::vector<float> x = floats(sign * 0.0f, sign * 20.0f, 997);
    const std::vector<float> y = tanh(x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_LE(ulp_error(y[i], std::tanh(static_cast<double>(x[i]))), 3) << x[i];
      ASSERT_LE(std::abs(y[i]), 1) << x[i];
    }
  }
  Random random(3);
  std::vector<double> x;
  for (int n = 0; n < 20'000; ++n) x.push_back(40 * random.uniform() - 20);
  for (int n = 0; n < 20'000; ++n)
    x.push_back(std::ldexp(random.normal(), -static_cast<int>(random.below(1000))));
  const std::vector<double> y = tanh(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_LE(ulp_error(y[i], std::tanh(static_cast<long double>(x[i]))), 3) << x[i];
  }
}

TEST_P(Math, TanhAtItsEnds) {
  const float tiny = std::numeric_limits<float>::denorm_min(), big = std::numeric_limits<float>::max();
  for (const float x : {tiny, 17 * tiny, std::numeric_limits<float>::min(), 1e-30f, 1e-10f}) {
    EXPECT_EQ(tanh(std::vector<float>(35, x)), std::vector<float>(35, x));
    EXPECT_EQ(tanh(std::vector<float>(35, -x)), std::vector<float>(35, -x));
  }
  for (const float x : {10.0f, 1e4f, big, kInf}) {
    EXPECT_EQ(tanh(std::vector<float>(35, x)), std::vector<float>(35, 1.0f));
    EXPECT_EQ(tanh(std::vector<float>(35, -x)), std::vector<float>(35, -1.0f));
  }
  EXPECT_EQ(tanh(std::vector<float>(35, 0.0f)), std::vector<float>(35, 0.0f));
  EXPECT_EQ(tanh(std::vector<float>(35, -0.0f)), std::vector<float>(35, 0.0f));
  EXPECT_EQ(tanh<double>({std::numeric_limits<double>::infinity(), 0.0}), (std::vector<double>{1.0, 0.0}));
}

// A key's bits must not depend on its place in a vector, or in the rest behind the last whole one.
TEST_P(Math, TheSameBitsInEveryLane) {
  Random random(4);
  std::vector<float> x;
  for (int n = 0; n < 4096; ++n) x.push_back(static_cast<float>(-130 * random.uniform()));
  std::vector<double> wide(x.begin(), x.end());
  const auto check = [](const auto& values, const auto& together, const auto& alone) {
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_TRUE(same_bits(together[i], alone({values[i]})[0])) << values[i];
  };
  check(x, exp2(x), [&](const std::vector<float>& one) { return exp2(one); });
  check(x, tanh(x), [&](const std::vector<float>& one) { return tanh(one); });
  check(wide, exp2(wide), [&](const std::vector<double>& one) { return exp2(one); });
}

INSTANTIATE_TEST_SUITE_P(Targets, Math, ::testing::ValuesIn(supported_targets()), target_name);

}  // namespace
}  // namespace headlight::testing
