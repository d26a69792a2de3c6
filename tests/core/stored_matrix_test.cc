// Matrices in the precision of files: sizes, rounding, refusals.
#include "headlight/stored_matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "headlight/error.h"
#include "support/errors.h"

namespace headlight {
namespace {

TEST(StoredMatrix, RoundsToNearest) {
  Tensor x({3, 64});
  for (Index i = 0; i < 3 * 64; ++i) x.as<float>()[i] = std::sin(static_cast<float>(i) * 0.7F);
  for (Index i = 0; i < 32; ++i) x.as<float>()[64 + i] *= 100;  // another block's factor
  for (Index i = 0; i < 64; ++i) x.as<float>()[128 + i] = 0;
  const struct {
    StoredType type;
    double unit;  // of the largest of a row, or of its block
    std::size_t bytes;
  } cases[] = {{StoredType::f32, 0, 768},
               {StoredType::f16, 0x1p-11, 384},
               {StoredType::bf16, 0x1p-8, 384},
               {StoredType::q8_0, 0.5 / 127 + 0x1p-11, 204},
               {StoredType::int8, 0.5 / 127 * 1.0001, 204}};
  for (const auto& c : cases) {
    const StoredMatrix stored = StoredMatrix::from(x, c.type);
    EXPECT_EQ(stored.bytes(), c.bytes) << name_of(c.type);
    for (Index r = 0; r < 3; ++r) {
      for (Index i = 0; i < 64; ++i) {
        const bool large = r == 1 && (i < 32 || c.type == StoredType::int8);
        EXPECT_NEAR(stored.at(r, i), x.at(r, i), c.unit * (large ? 100 : 1)) << name_of(c.type);
      }
    }
    EXPECT_EQ(stored.at(2, 5), 0);
  }
}

TEST(StoredMatrix, LargestBecomes127) {
  const float row[] = {-2.54F, 1.26F, 0.009F, 0.011F, 0, 2.54F};
  std::int8_t numbers[6];
  EXPECT_FLOAT_EQ(to_int8(row, numbers), 0.02F);
  EXPECT_EQ(std::vector<int>(numbers, numbers + 6), (std::vector<int>{-127, 63, 0, 1, 0, 127}));
  const float zeros[] = {0, -0.0F}, tiny[] = {1e-45F, -1e-45F};
  EXPECT_EQ(to_int8(zeros, std::span(numbers).first(2)), 0);
  EXPECT_EQ(to_int8(tiny, std::span(numbers).first(2)), 0);
  EXPECT_EQ(numbers[0], 0);
}

TEST(StoredMatrix, RefusesWhatDoesNotFit) {
  const std::vector<std::byte> bytes(136);
  const std::vector<float> scales(3);
  const auto make = [&](StoredType type, Index rows, Index columns, std::size_t from, std::size_t n) {
    (void)StoredMatrix(type, rows, columns, {std::span(bytes).subspan(from, n), scales});
  };
  using testing::expect_error;
  EXPECT_NO_THROW(make(StoredType::q8_0, 2, 64, 0, 136));
  EXPECT_NO_THROW(make(StoredType::f16, 2, 3, 2, 12));
  expect_error([&] { make(StoredType::q8_0, 2, 48, 0, 102); }, ErrorKind::input, "matrix.stored",
               "columns must be a multiple of 32");
  expect_error([&] { make(StoredType::bf16, 2, 3, 0, 13); }, ErrorKind::input, "matrix.stored",
               "[2, 3] stored as bf16: needs 12 bytes; 13 are there");
  expect_error([&] { make(StoredType::f32, 2, 3, 2, 24); }, ErrorKind::input, "matrix.stored",
               "does not start at a multiple of 4");
  expect_error([&] { make(StoredType::int8, 2, 3, 0, 6); }, ErrorKind::input, "matrix.stored",
               "needs one scale per row; 3 are given");
  expect_error([&] { make(StoredType::f16, 0, 3, 0, 0); }, ErrorKind::input, "matrix.stored", "need 1 row");
  expect_error([&] { make(StoredType::int8, Index{1} << 40, Index{1} << 40, 0, 0); }, ErrorKind::input,
               "tensor.size", "more elements than memory");
  expect_error(
      [&] {
        (void)StoredMatrix::from(Tensor({2, 33}), StoredType::q8_0);
      },
      ErrorKind::usage, "matrix.stored", "whole blocks of 32");
}

}  // namespace
}  // namespace headlight
