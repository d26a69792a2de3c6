// Products against plain loops in double, on every SIMD target, at sizes around the tiles.
#include "nn/matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "headlight/error.h"
#include "kernels/matrix_unit.h"

namespace headlight::nn {
namespace {

struct Case {
  Index rows, columns, depth;
  MatrixForm a_form = MatrixForm::plain, b_form = MatrixForm::plain;
  bool bias = false, accumulate = false;
};

// Matrices inside larger ones, so that a step beyond an edge meets NaN instead of luck.
struct Matrix {
  Matrix(Index rows, Index columns, DType dtype, std::mt19937& random)
      : whole({rows + 2, columns + 3}, dtype) {
    std::uniform_real_distribution<double> number(-1, 1);
    for (Index i = 0; i < rows + 2; ++i)
      for (Index j = 0; j < columns + 3; ++j)
        whole.view().set(i, j, i < rows && j < columns ? number(random) : std::nan(""));
    view = TensorView(whole.as<std::byte>(), dtype, {rows, columns}, {columns + 3, 1});
  }
  Tensor whole;
  TensorView view;
};

struct Problem {
  Problem(const Case& what, DType dtype, unsigned seed)
      : random(seed),
        a(what.a_form == MatrixForm::plain ? what.rows : what.depth,
          what.a_form == MatrixForm::plain ? what.depth : what.rows, dtype, random),
        b(what.b_form == MatrixForm::plain ? what.depth : what.columns,
          what.b_form == MatrixForm::plain ? what.columns : what.depth, dtype, random),
        c(what.rows, what.columns, dtype, random),
        bias({what.columns}, dtype) {
    for (Index j = 0; j < what.columns; ++j) bias.view().set(j, 0.25 * static_cast<double>(j % 7));
    product = {a.view, b.view, c.view, what.a_form, what.b_form, {}, what.accumulate};
    if (what.bias) product.bias = bias;
  }
  std::mt19937 random;
  Matrix a, b, c;
  Tensor bias;
  Product product;
};

void expect_right(const Case& c, DType dtype, SimdTarget target, Products products = Products::exact) {
  Problem problem(c, dtype, 7);
  const Tensor before = problem.c.whole.clone();
  Context ctx({.threads = 2, .target = target, .products = products});
  multiply(ctx, problem.product);
  const double unit = dtype == DType::f32 ? 0x1p-24 : 0x1p-53;
  // On the matrix unit: both sides are rounded to two bf16, the product of the smaller ones is left out, and there are
  // three products for one.
  const bool rounded =
      dtype == DType::f32 && products == Products::rounded && kernels::matrix_kernels_for(target) != nullptr;
  // One bf16 a number: both sides are rounded to 8 bits.
  const bool narrow =
      dtype == DType::f32 && products == Products::bf16 && kernels::bf16_kernels_for(target) != nullptr;
  const double rounding = rounded  ? 3 * 0x1p-18 + 2 * static_cast<double>(c.depth) * unit
                          : narrow ? 0x1p-8 + 0x1p-18
                                   : 0;
  for (Index i = 0; i < c.rows; ++i) {
    for (Index j = 0; j < c.columns; ++j) {
      double sum = 0, size = 1;
      for (Index k = 0; k < c.depth; ++k) {
        const double x = c.a_form == MatrixForm::plain ? problem.a.view.at(i, k) : problem.a.view.at(k, i);
        const double y = c.b_form == MatrixForm::plain ? problem.b.view.at(k, j) : problem.b.view.at(j, k);
        sum += x * y;
        size += std::abs(x * y);
      }
      if (c.bias) sum += problem.bias.at(j);
      if (c.accumulate) sum += before.at(i, j);
      // A chain of n roundings, each at most half a unit of what is there so far.
      ASSERT_NEAR(problem.c.view.at(i, j), sum, ((static_cast<double>(c.depth) + 2) * unit + rounding) * size)
          << name_of(target) << ' ' << c.rows << 'x' << c.columns << 'x' << c.depth << " at " << i << ','
          << j;
    }
  }
  for (Index i = 0; i < c.rows + 2; ++i)
    for (Index j = 0; j < c.columns + 3; ++j)
      if (i >= c.rows || j >= c.columns) {
        ASSERT_TRUE(std::isnan(problem.c.whole.at(i, j))) << "wrote beside c";
      }
}

TEST(Matmul, EverySizeFormAndTarget) {
  for (const SimdTarget target : supported_targets()) {
    for (const MatrixForm a : {MatrixForm::plain, MatrixForm::transposed}) {
      for (const MatrixForm b : {MatrixForm::plain, MatrixForm::transposed}) {
        for (const DType dtype : {DType::f32, DType::f64}) {
          for (const auto& [rows, columns, depth] : {std::tuple<Index, Index, Index>{1, 1, 1},
                                                     {1, 33, 5},
                                                     {12, 32, 8},
                                                     {13, 31, 9},
                                                     {25, 65, 385},
                                                     {5, 16, 384},
                                                     {6, 17, 770}}) {
            for (const Products how : {Products::exact, Products::rounded, Products::bf16}) {
              expect_right({rows, columns, depth, a, b}, dtype, target, how);
              expect_right({rows, columns, depth, a, b, true}, dtype, target, how);
              expect_right({rows, columns, depth, a, b, false, true}, dtype, target, how);
            }
          }
        }
      }
    }
  }
}

TEST(Matmul, ManyTasks) {
  expect_right({401, 1100, 40, MatrixForm::plain, MatrixForm::transposed, true}, DType::f32,
               SimdTarget::automatic);
  expect_right({3, 2100, 20, MatrixForm::plain, MatrixForm::transposed, true}, DType::f32,
               SimdTarget::automatic);
  for (const Products how : {Products::rounded, Products::bf16})
    expect_right({801, 1100, 40, MatrixForm::transposed, MatrixForm::plain}, DType::f32,
                 supported_targets().front(), how);
}

TEST(Matmul, SameBitsForAnyThreadsAndNeighbours) {
  for (const Products how : {Products::exact, Products::rounded, Products::bf16}) {
    const Case whole{97, 300, 500, MatrixForm::plain, MatrixForm::transposed, true};
    Problem one(whole, DType::f32, 3);
    Context single({.threads = 1, .products = how});
    multiply(single, one.product);
    for (const int threads : {2, 3, 7}) {
      Problem many(whole, DType::f32, 3);
      Context ctx({.threads = threads, .products = how});
      multiply(ctx, many.product);
      for (Index i = 0; i < whole.rows; ++i)
        ASSERT_EQ(std::memcmp(one.c.view.as<float>() + i * one.c.view.stride(0),
                              many.c.view.as<float>() + i * many.c.view.stride(0), sizeof(float) * 300),
                  0);
    }
    // Row 41 alone, as a decoder sees it.
    Tensor row({1, 300});
    multiply(single, {ConstTensorView(one.a.view.as<float>() + 41 * one.a.view.stride(0), {1, 500}),
                      one.b.view, row, MatrixForm::plain, MatrixForm::transposed, one.bias});
    EXPECT_EQ(
        std::memcmp(row.as<float>(), one.c.view.as<float>() + 41 * one.c.view.stride(0), sizeof(float) * 300),
        0);
  }
}

// Numbers that bf16 has are multiplied and added without an error; others are rounded first, on both sides.
TEST(Matmul, Bf16IsExactForItsOwnNumbers) {
  constexpr Index kRows = 35, kColumns = 70, kDepth = 451;
  Context ctx({.threads = 2, .products = Products::bf16});
  Tensor a({kRows, kDepth}), b({kDepth, kColumns}), c({kRows, kColumns});
  for (Index k = 0; k < kDepth; ++k) {
    for (Index i = 0; i < kRows; ++i) a.view().set(i, k, static_cast<double>((7 * i + 3 * k) % 129 - 64));
    for (Index j = 0; j < kColumns; ++j) b.view().set(k, j, static_cast<double>((5 * j + 11 * k) % 65 - 32));
  }
  multiply(ctx, {a.view(), b.view(), c.view()});
  for (Index i = 0; i < kRows; ++i) {
    for (Index j = 0; j < kColumns; ++j) {
      double sum = 0;
      for (Index k = 0; k < kDepth; ++k) sum += a.at(i, k) * b.at(k, j);
      ASSERT_EQ(c.at(i, j), sum) << i << ',' << j;
    }
  }
  const Tensor x = Tensor::from(std::vector<double>{1 + 0x1p-10}, {1, 1});
  Tensor y({1, 1});
  multiply(ctx, {x.view(), x.view(), y.view()});
  const bool rounds = kernels::bf16_kernels_for(ctx.target()) != nullptr;
  EXPECT_EQ(y.at(0, 0), rounds ? 1.0 : 1 + 0x1p-9 + 0x1p-20);
}

TEST(Matmul, NoDepthNoRows) {
  Context ctx({.threads = 1});
  Tensor a({2, 0}), b({0, 3}), c = Tensor::from(std::vector<double>(6, 9.0), {2, 3}), bias({3});
  bias.view().set(1, 5);
  multiply(ctx, {a.view(), b.view(), c.view(), MatrixForm::plain, MatrixForm::plain, bias.view()});
  EXPECT_EQ(c.at(1, 0), 0);
  EXPECT_EQ(c.at(1, 1), 5);
  Tensor none({0, 4}), square({4, 4}), empty({0, 4});
  multiply(ctx, {none.view(), square.view(), empty.view()});
}

TEST(Matmul, RefusesWhatDoesNotFit) {
  Context ctx({.threads = 1});
  Tensor a({2, 3}), b({4, 5}), c({2, 5});
  try {
    multiply(ctx, {a.view(), b.view(), c.view()});
    FAIL() << "accepted depths 3 and 4";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "matmul.shape");
    EXPECT_THAT(error.what(), testing::HasSubstr("a and b differ in depth"));
    EXPECT_THAT(error.what(), testing::HasSubstr("[2, 3]"));
  }
  Tensor wide({3, 5}, DType::f64);
  EXPECT_THROW(multiply(ctx, {a.view(), wide.view(), c.view()}), Error);
  Tensor good({3, 5}), bias({4});
  EXPECT_THROW(
      multiply(ctx, {a.view(), good.view(), c.view(), MatrixForm::plain, MatrixForm::plain, bias.view()}),
      Error);
}

}  // namespace
}  // namespace headlight::nn
