#include "headlight/tensor.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "support/errors.h"
#include "support/sanitizers.h"

namespace headlight::testing {
namespace {

constexpr DType kAll[] = {DType::f32, DType::f64, DType::f16,    DType::bf16,
                          DType::i32, DType::i64, DType::boolean};
constexpr Index kHuge = Index{1} << 40;

TEST(DTypes, SizesAndNames) {
  const std::vector<std::pair<DType, std::string_view>> names = {
      {DType::f32, "f32"}, {DType::f64, "f64"}, {DType::f16, "f16"},     {DType::bf16, "bf16"},
      {DType::i32, "i32"}, {DType::i64, "i64"}, {DType::boolean, "bool"}};
  for (const auto& [type, name] : names) EXPECT_EQ(name_of(type), name);
  EXPECT_EQ(size_of(DType::f64), 8U);
  EXPECT_EQ(size_of(DType::i64), 8U);
  EXPECT_EQ(size_of(DType::f32), 4U);
  EXPECT_EQ(size_of(DType::i32), 4U);
  EXPECT_EQ(size_of(DType::f16), 2U);
  EXPECT_EQ(size_of(DType::bf16), 2U);
  EXPECT_EQ(size_of(DType::boolean), 1U);
  for (const DType type : kAll) EXPECT_EQ(is_float(type), name_of(type).find('f') != std::string_view::npos);
}

// Built from the formats' definition.
TEST(Halves, WidenAsTheFormatSays) {
  for (int i = 0; i < 65536; ++i) {
    for (const bool brain : {false, true}) {
      const auto bits = static_cast<std::uint16_t>(i);
      const int digits = brain ? 7 : 10, bias = brain ? 127 : 15, top = brain ? 255 : 31;
      const int fraction = i & ((1 << digits) - 1), exponent = (i & 0x7FFF) >> digits;
      const float x = brain ? to_float(BF16{bits}) : to_float(F16{bits});
      ASSERT_EQ(std::signbit(x), i >= 0x8000) << i;
      if (exponent == top) {
        ASSERT_TRUE(fraction == 0 ? std::isinf(x) : std::isnan(x)) << i;
      } else {
        const double units = exponent == 0 ? fraction : fraction + (1 << digits);
        ASSERT_EQ(std::abs(static_cast<double>(x)), std::ldexp(units, std::max(exponent, 1) - bias - digits))
            << i;
        ASSERT_EQ(brain ? to_bf16(x).bits : to_f16(x).bits, bits) << "there and back";
      }
    }
  }
}

// Rounded by way of float, these would land on a tie first and then on the wrong side.
TEST(Halves, DoublesAreRoundedOnce) {
  EXPECT_EQ(to_f16(1 + 0x1p-11 + 0x1p-40).bits, 0x3C01);
  EXPECT_EQ(to_f16(1 + 0x1p-11).bits, 0x3C00);
  EXPECT_EQ(to_f16(1 + 3 * 0x1p-11 - 0x1p-40).bits, 0x3C01);
  EXPECT_EQ(to_bf16(1 + 0x1p-8 + 0x1p-40).bits, 0x3F81);
  EXPECT_EQ(to_f16(65519.999999999).bits, 0x7BFF);
  EXPECT_EQ(to_f16(65520.0).bits, 0x7C00);
  EXPECT_EQ(to_f16(-1e300).bits, 0xFC00);
  EXPECT_EQ(to_f16(0x1p-25).bits, 0);
  EXPECT_EQ(to_f16(0x1p-25 + 0x1p-60).bits, 1);
  EXPECT_EQ(to_f16(-0.0).bits, 0x8000);
  EXPECT_EQ(to_f16(std::numeric_limits<double>::denorm_min()).bits, 0);
  EXPECT_EQ(to_f16(std::nan("")).bits & 0x7FFF, 0x7E00);
  EXPECT_EQ(to_bf16(-std::nan("")).bits, 0xFFC0);
}

TEST(Shapes, KnowTheirElements) {
  EXPECT_EQ(Shape({2, 3, 4}).elements(), 24);
  EXPECT_EQ(Shape({2, 3, 4}).text(), "[2, 3, 4]");
  EXPECT_EQ(Shape().text(), "[]");
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(Shape({kHuge, kHuge, 0}).elements(), 0) << "nothing is nothing, whatever the other sizes";
  EXPECT_EQ(Shape({Index{1} << 59}).elements(), Index{1} << 59);
  EXPECT_NE(Shape({2, 3}), Shape({2, 3, 1}));
  EXPECT_EQ(Shape(std::vector<Index>{5, 6}), Shape({5, 6}));
}

TEST(Shapes, RefuseWhatNoMemoryHolds) {
  const auto size_error = [](const Shape& shape, const char* words) {
    expect_error([&] { (void)shape.elements(); }, ErrorKind::input, "tensor.size", words);
    expect_error([&] { const Tensor tensor(shape); }, ErrorKind::input, "tensor.size", words);
  };
  size_error({kHuge, kHuge}, "tensor: [1099511627776, 1099511627776] has more elements than memory can have");
  size_error({(Index{1} << 59) + 1}, "has more elements");
  size_error({std::numeric_limits<Index>::max(), 2}, "has more elements");
  size_error({Index{1} << 32, Index{1} << 32}, "has more elements");  // the product wraps to 0
  size_error({2, -1, 3}, "tensor: negative size in [2, -1, 3]");
  size_error({0, -1}, "tensor: negative size in [0, -1]");
  size_error({std::numeric_limits<Index>::min(), -1}, "negative size");
  expect_error(
      [] {
        const Shape shape{1, 2, 3, 4, 5};
      },
      ErrorKind::input, "tensor.rank", "tensor: rank 5 is above the limit of 4");
  expect_error(
      [] {
        const ConstTensorView view(nullptr, DType::f32, {2, 3}, {1});
      },
      ErrorKind::input, "tensor.rank", "tensor: shape [2, 3] with strides [1]; ranks must agree");
}

TEST(Views, CountTheirStrides) {
  const float data[24] = {};
  const ConstTensorView view(data, {2, 3, 4});
  EXPECT_EQ(view.stride(0), 12);
  EXPECT_EQ(view.stride(1), 4);
  EXPECT_EQ(view.stride(2), 1);
  EXPECT_EQ(view.rank(), 3);
  EXPECT_EQ(view.dim(1), 3);
  EXPECT_FALSE(view.empty());
  EXPECT_TRUE(ConstTensorView().empty());
  EXPECT_FALSE(ConstTensorView(data, {0, 3}).empty()) << "given, and without elements";
  // Sizes far beyond memory: refused where memory is touched, and no undefined behaviour here.
  const ConstTensorView wild(nullptr, DType::f32, {kHuge, kHuge, kHuge, kHuge});
  EXPECT_EQ(wild.stride(3), 1);
}

TEST(Views, ReadThroughAnyStrides) {
  std::vector<float> data(60);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i);
  const ConstTensorView moved(data.data() + 59, DType::f32, {3, 4, 5}, {-20, -5, -1});
  EXPECT_EQ(moved.at(0, 0, 0), 59);
  EXPECT_EQ(moved.at(2, 3, 4), 0);
  EXPECT_EQ(moved.at(1, 1, 1), 59 - 26);
  const ConstTensorView repeated(data.data(), DType::f32, {2, 3, 4, 5}, {0, 0, 0, 1});
  EXPECT_EQ(repeated.at(1, 2, 3, 4), 4);
  const TensorView column(data.data(), DType::f32, {12}, {5});
  column.set(3, -1);
  EXPECT_EQ(data[15], -1);
  EXPECT_EQ(column.at(3), -1);
}

TEST(Views, SetAndGetEveryDtypeAndRank) {
  for (const DType type : kAll) {
    Tensor tensor({2, 2, 2, 2}, type);
    for (Index i = 0; i < 16; ++i) {
      ASSERT_EQ(tensor.at(i / 8, i / 4 % 2, i / 2 % 2, i % 2), 0) << "new memory is zero";
      tensor.view().set(i / 8, i / 4 % 2, i / 2 % 2, i % 2, static_cast<double>(i));
    }
    for (Index i = 0; i < 16; ++i) {
      const double expected = type == DType::boolean ? (i != 0 ? 1 : 0) : static_cast<double>(i);
      EXPECT_EQ(tensor.at(i / 8, i / 4 % 2, i / 2 % 2, i % 2), expected) << name_of(type);
    }
    Tensor flat({3}, type), plane({2, 3}, type), solid({2, 2, 3}, type);
    flat.view().set(2, 1);
    plane.view().set(1, 2, 1);
    solid.view().set(1, 1, 2, 1);
    EXPECT_EQ(flat.at(2) + flat.at(1), 1);
    EXPECT_EQ(plane.at(1, 2) + plane.at(0, 2), 1);
    EXPECT_EQ(solid.at(1, 1, 2) + solid.at(1, 0, 2), 1);
  }
}

TEST(Views, SetRoundsToNearestEven) {
  Tensor x({1}, DType::f32);
  x.view().set(0, 1 + 0x1p-24 + 0x1p-50);
  EXPECT_EQ(x.at(0), 1 + 0x1p-23);
  x.view().set(0, 1e300);
  EXPECT_EQ(x.at(0), INFINITY);
  for (const DType type : {DType::i32, DType::i64}) {
    Tensor n({1}, type);
    const std::vector<std::pair<double, double>> rounded = {
        {2.5, 2}, {3.5, 4}, {2.7, 3}, {-2.7, -3}, {-0.4, 0}};
    for (const auto& [from, to] : rounded) {
      n.view().set(0, from);
      EXPECT_EQ(n.at(0), to) << from << " as " << name_of(type);
    }
  }
}

// Out of range there is no nearest integer: the closest there is, and 0 for NaN.
TEST(Views, SetKeepsIntegersInRange) {
  Tensor n({1}, DType::i32), m({1}, DType::i64);
  for (const double x : {1e300, HUGE_VAL, 3e9}) {
    n.view().set(0, x);
    EXPECT_EQ(n.as<std::int32_t>()[0], std::numeric_limits<std::int32_t>::max()) << x;
    n.view().set(0, -x);
    EXPECT_EQ(n.as<std::int32_t>()[0], std::numeric_limits<std::int32_t>::min()) << x;
  }
  for (const double x : {1e300, HUGE_VAL, 0x1p63}) {
    m.view().set(0, x);
    EXPECT_EQ(m.as<std::int64_t>()[0], std::numeric_limits<std::int64_t>::max()) << x;
    m.view().set(0, -x);
    EXPECT_EQ(m.as<std::int64_t>()[0], std::numeric_limits<std::int64_t>::min()) << x;
  }
  n.view().set(0, NAN);
  m.view().set(0, NAN);
  EXPECT_EQ(n.at(0), 0);
  EXPECT_EQ(m.at(0), 0);
}

TEST(Tensors, OwnAlignedMemory) {
  for (const Index n : {1, 3, 64, 1000}) {
    Tensor tensor({n}, DType::bf16);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.as<std::byte>()) % 64, 0U);
    EXPECT_EQ(tensor.view().data(), tensor.as<std::byte>());
  }
  EXPECT_TRUE(Tensor().empty());
  EXPECT_TRUE(Tensor().view().empty());
  const Tensor nothing({3, 0, 2});
  EXPECT_FALSE(nothing.empty());
  EXPECT_FALSE(nothing.view().empty());
  EXPECT_EQ(nothing.shape().elements(), 0);
}

TEST(Tensors, FromNumbersAndBack) {
  for (const DType type : kAll) {
    const std::vector<double> values = {0, 1, 0, 1, 1, 0};
    const Tensor tensor = Tensor::from(values, {2, 3}, type);
    EXPECT_EQ(tensor.dtype(), type);
    for (Index i = 0; i < 6; ++i) EXPECT_EQ(tensor.at(i / 3, i % 3), values[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(Tensor::from({}, {0, 3}).shape(), Shape({0, 3}));
  const std::vector<double> five(5);
  expect_error(
      [&] {
        (void)Tensor::from(five, {2, 3});
      },
      ErrorKind::input, "tensor.size", "tensor: 5 values for shape [2, 3], which needs 6");
}

TEST(Tensors, ACloneIsItsOwn) {
  const std::vector<double> values = {1, 2, 3};
  Tensor first = Tensor::from(values, {3}, DType::f16);
  Tensor second = first.clone();
  EXPECT_EQ(second.dtype(), DType::f16);
  EXPECT_EQ(second.shape(), Shape({3}));
  second.view().set(1, 9);
  EXPECT_EQ(first.at(1), 2);
  EXPECT_EQ(second.at(1), 9);
  EXPECT_EQ(second.at(2), 3);
  EXPECT_TRUE(Tensor().clone().empty());
  EXPECT_EQ(Tensor({2, 0}, DType::i64).clone().shape(), Shape({2, 0}));
}

TEST(Tensors, SayWhenMemoryIsOut) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's allocator ends the program";
  expect_error([] { const Tensor tensor({Index{1} << 59}, DType::f64); }, ErrorKind::resource,
               "tensor.memory", "tensor: no memory for f64 [576460752303423488] (4611686018427387904 bytes)");
}

TEST(Views, RefuseElementsThatAreNotThere) {
  Tensor x({2, 3});
  const ConstTensorView row(x.as<float>(), {3});
  const auto expect_refused = [](const auto& call, const std::string& asked, const std::string& shape) {
    expect_error(call, ErrorKind::usage, "tensor.index",
                 "tensor: no element (" + asked + ") in a tensor of shape " + shape);
  };
  expect_refused([&] { (void)x.at(2, 0); }, "2, 0", "[2, 3]");
  expect_refused([&] { (void)x.at(0, 3); }, "0, 3", "[2, 3]");
  expect_refused([&] { (void)x.at(-1, 0); }, "-1, 0", "[2, 3]");
  expect_refused([&] { (void)x.at(0); }, "0", "[2, 3]");
  expect_refused([&] { (void)x.at(0, 0, 0); }, "0, 0, 0", "[2, 3]");
  expect_refused([&] { (void)row.at(3); }, "3", "[3]");
  expect_refused([&] { (void)ConstTensorView().at(0); }, "0", "[]");
  expect_refused([&] { x.view().set(1, 3, 1.0); }, "1, 3", "[2, 3]");
  expect_refused([&] { x.view().set(5, 1.0); }, "5", "[2, 3]");
  x.view().set(1, 2, 7);
  EXPECT_EQ(x.at(1, 2), 7);
}

TEST(Views, TakeHalvesByPointer) {
  F16 half[] = {to_f16(1.5), to_f16(-2)};
  BF16 brain[] = {to_bf16(1.5), to_bf16(-2)};
  EXPECT_EQ(ConstTensorView(half, {2}).dtype(), DType::f16);
  EXPECT_EQ(ConstTensorView(brain, {2}).dtype(), DType::bf16);
  TensorView(half, {2}).set(0, 3.0);
  TensorView(brain, {2}).set(0, 3.0);
  EXPECT_EQ(ConstTensorView(half, {2}).at(0) + ConstTensorView(brain, {2}).at(0), 6);
  EXPECT_EQ(ConstTensorView(half, {2}).at(1), -2);
}

}  // namespace
}  // namespace headlight::testing
