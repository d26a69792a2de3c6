// Loading and storing rows: every 16-bit float, every rounding border, any length and place.
#include <bit>
#include <cmath>
#include <limits>

#include "kernel_test.h"
#include "support/random.h"

namespace headlight::testing {
namespace {

class Convert : public KernelTest {
 protected:
  // Bits of `x` stored as f16 or bf16, in one long row.
  [[nodiscard]] std::vector<std::uint16_t> stored(const std::vector<float>& x, DType type) const {
    std::vector<std::uint16_t> bits(x.size(), 0x1234);
    bool finite = true;
    of<float>().store_row(x.data(), static_cast<int>(x.size()), 1.0f, type, bits.data(), &finite);
    return bits;
  }
};

float widened(std::uint16_t bits, DType type) {
  return type == DType::f16 ? to_float(F16{bits}) : to_float(BF16{bits});
}
std::uint16_t narrowed(double x, DType type) { return type == DType::f16 ? to_f16(x).bits : to_bf16(x).bits; }
std::uint16_t infinity_of(DType type) { return type == DType::f16 ? 0x7C00 : 0x7F80; }
bool is_nan(std::uint16_t bits, DType type) { return (bits & 0x7FFFU) > infinity_of(type); }
float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

constexpr DType kHalves[] = {DType::f16, DType::bf16};

TEST_P(Convert, LoadsAllSixteenBitFloats) {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  for (const DType type : kHalves) {
    std::vector<float> x(all.size());
    std::vector<double> wide(all.size());
    of<float>().load_row(all.data(), type, static_cast<int>(all.size()), 1.0f, x.data());
    of<double>().load_row(all.data(), type, static_cast<int>(all.size()), 1.0, wide.data());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const float expected = widened(all[i], type);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(x[i]) && std::isnan(wide[i])) << name_of(type) << " " << i;
        ASSERT_EQ(std::signbit(x[i]), (i & 0x8000U) != 0) << name_of(type) << " " << i;
      } else {
        ASSERT_TRUE(same_bits(x[i], expected)) << name_of(type) << " " << i << " is " << x[i];
        ASSERT_TRUE(same_bits(wide[i], static_cast<double>(expected))) << name_of(type) << " " << i;
      }
    }
  }
}

TEST_P(Convert, StoresAllSixteenBitFloatsUnchanged) {
  for (const DType type : kHalves) {
    std::vector<float> x;
    for (int i = 0; i < 65536; ++i) x.push_back(widened(static_cast<std::uint16_t>(i), type));
    const std::vector<std::uint16_t> bits = stored(x, type);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i])) ASSERT_TRUE(is_nan(bits[i], type)) << i;
      else ASSERT_EQ(bits[i], x[i] == 0 ? 0U : i) << name_of(type);  // -0 is stored as +0
    }
  }
}

// Half-way between every two neighbours, and one float to either side of it.
TEST_P(Convert, RoundsToNearestEven) {
  for (const DType type : kHalves) {
    std::vector<float> x;
    std::vector<std::uint16_t> expected;
    for (std::uint16_t low = 0; low < infinity_of(type); ++low) {
      const double a = widened(low, type);
      const double b = low + 1 < infinity_of(type)
                           ? widened(static_cast<std::uint16_t>(low + 1), type)
                           : a + (a - widened(static_cast<std::uint16_t>(low - 1), type));
      const auto middle = std::bit_cast<std::uint32_t>(static_cast<float>((a + b) / 2));
      const auto high = static_cast<std::uint16_t>(low + 1),
                 even = static_cast<std::uint16_t>(low + (low & 1));
      for (const std::uint32_t sign : {0U, 0x80000000U}) {
        const auto half_sign = static_cast<std::uint16_t>(sign >> 16);
        for (const auto& [bits, answer] :
             {std::pair(middle - 1, low), std::pair(middle, even), std::pair(middle + 1, high)}) {
          if (bits == 0) continue;
          x.push_back(from_bits(bits | sign));
          expected.push_back(half_sign | answer);
        }
      }
    }
    const std::vector<std::uint16_t> bits = stored(x, type);
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(bits[i], expected[i]) << name_of(type) << " " << std::hexfloat << x[i];
      ASSERT_EQ(narrowed(x[i], type), expected[i])
          << "core, " << name_of(type) << " " << std::hexfloat << x[i];
    }
  }
}

TEST_P(Convert, StoresWhatCoreWouldStore) {
  Random random(1);
  std::vector<float> x = {0.0f,
                          1e-45f,
                          -1e-45f,
                          1e-40f,
                          65504.0f,
                          65519.996f,
                          65520.0f,
                          1e6f,
                          3.3895e38f,
                          3.4e38f,
                          std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()};
  for (int n = 0; n < 500'000; ++n) x.push_back(from_bits(static_cast<std::uint32_t>(random.next())));
  for (int n = 0; n < 500'000; ++n)
    x.push_back(static_cast<float>(std::ldexp(random.normal(), static_cast<int>(random.below(45)) - 28)));
  for (const DType type : kHalves) {
    const std::vector<std::uint16_t> bits = stored(x, type);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i])) ASSERT_TRUE(is_nan(bits[i], type)) << i;
      else ASSERT_EQ(bits[i], narrowed(x[i] + 0.0f, type)) << name_of(type) << " " << std::hexfloat << x[i];
    }
  }
}

TEST_P(Convert, EveryNanIsStoredAsNan) {
  std::vector<float> x;
  for (const std::uint32_t sign : {0U, 0x80000000U}) {
    for (int bit = 0; bit < 23; ++bit) x.push_back(from_bits(sign | 0x7F800000U | (1U << bit)));
    x.push_back(from_bits(sign | 0x7FFFFFFFU));
  }
  for (const DType type : kHalves) {
    for (const std::uint16_t bits : stored(x, type)) EXPECT_TRUE(is_nan(bits, type)) << bits;
  }
  std::vector<float> same(x.size());
  bool finite = true;
  of<float>().store_row(x.data(), static_cast<int>(x.size()), 1.0f, DType::f32, same.data(), &finite);
  for (const float y : same) EXPECT_TRUE(std::isnan(y));
  EXPECT_FALSE(finite);
}

// Any number of elements at any element's address; nothing beside them is touched.
template <class T>
void check_places(const kernels::AttentionKernels<T>& kernels) {
  constexpr T kGuard = T{-77};
  const DType native = sizeof(T) == 4 ? DType::f32 : DType::f64;
  for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    Tensor source({1200}, type);
    for (Index i = 0; i < 1200; ++i) source.view().set(i, static_cast<double>(i) / 8 - 40);
    const auto size = static_cast<Index>(size_of(type));
    std::vector<int> lengths = {255, 256, 257, 511, 512, 513, 1000};
    for (int n = 0; n <= 70; ++n) lengths.push_back(n);
    for (const int n : lengths) {
      for (const int shift : {0, 1, 2, 3, 5, 7, 15, 17}) {
        std::vector<T> row(static_cast<std::size_t>(n + shift + 2), kGuard);
        T* at = row.data() + shift + 1;
        kernels.load_row(source.as<std::byte>() + shift * size, type, n, T{0.5}, at);
        for (int i = 0; i < n; ++i)
          ASSERT_EQ(at[i], static_cast<T>(source.at(shift + i) / 2)) << n << " at " << shift;
        ASSERT_EQ(at[-1], kGuard);
        ASSERT_EQ(at[n], kGuard) << n << " at " << shift;

        if (sizeof(T) == 8 && type != native) continue;  // f64 is stored as f64 only
        if (type == DType::f64 && sizeof(T) == 4) continue;
        Tensor target({n + shift + 2}, type);
        for (Index i = 0; i < n + shift + 2; ++i) target.view().set(i, kGuard);
        bool finite = true;
        kernels.store_row(at, n, T{2}, type, target.as<std::byte>() + (shift + 1) * size, &finite);
        ASSERT_TRUE(finite);
        for (Index i = 0; i < n; ++i)
          ASSERT_EQ(target.at(shift + 1 + i), source.at(shift + i)) << n << " at " << shift;
        ASSERT_EQ(target.at(shift), kGuard);
        ASSERT_EQ(target.at(shift + 1 + n), kGuard) << n << " at " << shift;
      }
    }
  }
}

TEST_P(Convert, AnyLengthAtAnyPlace) {
  check_places(of<float>());
  check_places(of<double>());
}

template <class T>
void check_finite_flag(const kernels::AttentionKernels<T>& kernels, DType type) {
  constexpr T kInf = std::numeric_limits<T>::infinity();
  for (const T bad : {kInf, -kInf, std::numeric_limits<T>::quiet_NaN()}) {
    for (const int n : {1, 7, 16, 33, 300}) {
      for (int i = 0; i < n; ++i) {
        std::vector<T> row(static_cast<std::size_t>(n), T{1}), target(row.size());
        bool finite = true;
        kernels.store_row(row.data(), n, T{1}, type, target.data(), &finite);
        ASSERT_TRUE(finite);
        row[static_cast<std::size_t>(i)] = bad;
        kernels.store_row(row.data(), n, T{1}, type, target.data(), &finite);
        ASSERT_FALSE(finite) << i << " of " << n;
      }
    }
  }
}

TEST_P(Convert, SaysWhenANumberIsNotFinite) {
  check_finite_flag(of<float>(), DType::f32);
  check_finite_flag(of<float>(), DType::f16);
  check_finite_flag(of<float>(), DType::bf16);
  check_finite_flag(of<double>(), DType::f64);
}

INSTANTIATE_TEST_SUITE_P(Targets, Convert, ::testing::ValuesIn(supported_targets()), target_name);

}  // namespace
}  // namespace headlight::testing
