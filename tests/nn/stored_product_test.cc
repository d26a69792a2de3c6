// Products with stored matrices against plain loops in double, on every SIMD target and in every precision.
#include "nn/stored_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "kernels/byte_gemm.h"
#include "kernels/integer_gemm.h"
#include "kernels/matrix_unit.h"
#include "nn/matmul.h"
#include "support/block_matrices.h"
#include "support/errors.h"
#include "support/sanitizers.h"
#include "support/thread_team.h"

namespace headlight::nn {
namespace {

const std::span<const StoredType> kTypes = stored_types();

bool in_blocks(StoredType type) { return block_columns(type) > 1; }
// Eight bits for an activation, not sixteen.
bool in_bytes(StoredType type) { return in_blocks(type) && type != StoredType::q8_0; }

Tensor noise(Index rows, Index columns, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(-1, 1);
  Tensor x({rows, columns});
  for (Index i = 0; i < rows * columns; ++i) x.as<float>()[i] = number(random);
  return x;
}

struct Problem {
  Index rows, columns, depth;
  StoredType type;
  WeightLayout layout = WeightLayout::out_in;
  Tensor x = noise(rows, depth, 1);
  StoredMatrix w = in_bytes(type)                   ? testing::random_blocks(columns, depth, type, 2)
                   : layout == WeightLayout::out_in ? StoredMatrix::from(noise(columns, depth, 2), type)
                                                    : StoredMatrix::from(noise(depth, columns, 2), type);
  Tensor dense = in_bytes(type) ? testing::decoded(w) : Tensor();
  Tensor bias_values = noise(1, columns, 3);
  ConstTensorView bias = {bias_values.as<float>(), {columns}};

  // The result is a part of a wider matrix of NaN, so that a step beyond an edge shows.
  [[nodiscard]] Tensor run(Context& ctx, const Tensor& input) const {
    Tensor y({input.dim(0) + 1, columns + 3});
    for (Index i = 0; i < y.shape().elements(); ++i) y.as<float>()[i] = NAN;
    const StoredFactor factor{
        w, TensorView(y.as<float>(), DType::f32, {input.dim(0), columns}, {columns + 3, 1}), bias, layout};
    multiply_stored(ctx, input, std::span(&factor, 1));
    return y;
  }
  [[nodiscard]] double weight(Index k, Index column) const {
    if (in_bytes(type)) return static_cast<double>(dense.as<float>()[column * depth + k]);
    return layout == WeightLayout::out_in ? w.at(column, k) : w.at(k, column);
  }
  [[nodiscard]] bool many_in_integers(const Context& ctx) const {
    if (!in_bytes(type)) return kernels::integer_kernels_for(ctx.target()) != nullptr;
    const kernels::ByteKernels* bytes = kernels::byte_kernels_for(ctx.target());
    return bytes != nullptr && bytes->takes(type);
  }
  // Where it may be, x is rounded. On the matrix unit numbers are two bf16 each, 16 bits of 24 (a weight of bf16 or int8 is one),
  // and there are up to three products for one. Else beside q8_0 (and many rows of int8) to 16 bits, block by block; many
  // rows where the CPU has products for it.
  [[nodiscard]] double rounding(const Context& ctx, Index row, Index column, double size) const {
    if (type == StoredType::f32 || ctx.activations() == Activations::exact) return 0;
    const bool one_part =
        type == StoredType::bf16 || (type == StoredType::int8 && layout == WeightLayout::out_in);
    if (rows > 8 && kernels::matrix_kernels_for(ctx.target()) != nullptr)
      return ((one_part ? 1 : 3) * 0x1p-18 + 2 * static_cast<double>(depth) * 0x1p-24) * size;
    const bool as_blocks =
        type == StoredType::int8 && rows > 8 && layout == WeightLayout::out_in && depth % 32 == 0;
    if (!in_blocks(type) && !as_blocks) return 0;
    if (rows > 8 && !many_in_integers(ctx)) return 0;
    double sum = 0;
    for (Index k = 0; k < depth; k += 32) {
      double largest = 0, weights = 0;
      for (Index i = k; i < k + 32; ++i) {
        largest = std::max(largest, std::abs(x.at(row, i)));
        weights += std::abs(weight(i, column));
      }
      sum += largest * weights;
    }
    // In 8 bits, codes count from zero: sums before their offset or minimum is taken off are larger than what is left.
    return in_bytes(type) ? sum / 254 + 8 * static_cast<double>(depth) * 0x1p-24 * size : 0x1p-16 * sum;
  }
  void expect_right(Context& ctx) const {
    const Tensor y = run(ctx, x);
    const Index step = testing::kSanitized && rows > 100 ? 13 : 1;  // the plain loops below are slow there
    for (Index i = 0; i < y.dim(0); i += step) {
      for (Index j = 0; j < y.dim(1); ++j) {
        if (i >= rows || j >= columns) {
          ASSERT_TRUE(std::isnan(y.at(i, j))) << "wrote beside y";
          continue;
        }
        double sum = bias.at(j), size = std::abs(sum);
        for (Index k = 0; k < depth; ++k) {
          sum += x.at(i, k) * weight(k, j);
          size += std::abs(x.at(i, k) * weight(k, j));
        }
        ASSERT_NEAR(y.at(i, j), sum,
                    static_cast<double>(depth + 4) * 0x1p-24 * size + rounding(ctx, i, j, size))
            << name_of(ctx.target()) << ' ' << name_of(type) << ' ' << rows << 'x' << columns << 'x' << depth
            << " at " << i << ',' << j;
      }
    }
  }
};

TEST(StoredProduct, EverySizeTypeAndTarget) {
  const struct {
    Index rows, columns, depth;
  } sizes[] = {{1, 1, 1},    {1, 17, 33},  {1, 40, 64},  {2, 7, 32},   {3, 5, 96},    {4, 18, 95},
               {5, 33, 416}, {8, 12, 800}, {9, 33, 416}, {12, 32, 32}, {25, 65, 385}, {200, 40, 64}};
  for (const SimdTarget target : supported_targets()) {
    Context ctx({.threads = 2, .target = target});
    Context rounded({.threads = 2, .target = target, .activations = Activations::rounded});
    for (const auto& size : sizes) {
      for (const StoredType type : kTypes) {
        const Index whole = block_columns(type), depth = (size.depth + whole - 1) / whole * whole;
        if (in_bytes(type) && size.rows * size.columns * depth > 200'000)
          continue;  // the plain loops are slow
        for (Context* how : {&ctx, &rounded}) {
          Problem{size.rows, size.columns, depth, type}.expect_right(*how);
          if (!in_blocks(type))
            Problem{size.rows, size.columns, size.depth, type, WeightLayout::in_out}.expect_right(*how);
        }
      }
    }
  }
}

Tensor first_rows(const Tensor& x, Index first, Index rows) {
  Tensor part({rows, x.dim(1)});
  std::memcpy(part.as<float>(), x.as<float>() + first * x.dim(1),
              sizeof(float) * static_cast<std::size_t>(rows * x.dim(1)));
  return part;
}

// Integers round a row of x as decoding does: many rows and few agree to the rounding of sums, not of x. Where there is a
// matrix unit, many rows go to it and x is not rounded to bytes.
TEST(StoredProduct, ManyRowsInBytesAreThoseOfDecoding) {
  int compared = 0;
  for (const SimdTarget target : supported_targets()) {
    Context ctx({.threads = 1, .target = target, .activations = Activations::rounded});
    for (const StoredType type : kTypes) {
      const Problem problem{13, 37, block_columns(type) == 256 ? 512 : 352, type};
      if (!in_bytes(type) || !problem.many_in_integers(ctx)) continue;
      if (kernels::matrix_kernels_for(target) != nullptr) continue;
      const Tensor many = problem.run(ctx, problem.x);
      for (Index r = 0; r < 13; ++r) {
        const Tensor one = problem.run(ctx, first_rows(problem.x, r, 1));
        double size = 0;
        for (Index k = 0; k < problem.depth; ++k) size = std::max(size, std::abs(problem.x.at(r, k)));
        for (Index j = 0; j < 37; ++j) {
          double weights = 0;
          for (Index k = 0; k < problem.depth; ++k) weights += std::abs(problem.weight(k, j));
          ASSERT_NEAR(many.at(r, j), one.at(0, j), 1e-5 * size * weights)
              << name_of(target) << ' ' << name_of(type) << ' ' << r << ',' << j;
          ++compared;
        }
      }
    }
  }
  if (compared == 0) GTEST_SKIP() << "no target multiplies bytes";
}

TEST(StoredProduct, ManyTasksAndRows) {
  Context ctx({.threads = 2});
  Problem{3, 900, 64, StoredType::bf16}.expect_right(ctx);
  Problem{800, 600, 32, StoredType::q8_0}.expect_right(ctx);
  Context rounded({.threads = 2, .activations = Activations::rounded});
  Problem{800, 600, 320, StoredType::q8_0}.expect_right(rounded);
  Problem{800, 600, 416, StoredType::bf16}.expect_right(rounded);
  Problem{775, 21, 256, StoredType::q6_k}.expect_right(rounded);
  Problem{11, 600, 288, StoredType::q5_1}.expect_right(rounded);
}

bool same_rows(const Tensor& a, Index a_row, const Tensor& b, Index b_row, Index columns) {
  return std::memcmp(a.as<float>() + a_row * a.dim(1), b.as<float>() + b_row * b.dim(1),
                     sizeof(float) * static_cast<std::size_t>(columns)) == 0;
}

TEST(StoredProduct, SameBitsForAnyThreadsAndNeighbours) {
  for (const SimdTarget target : supported_targets()) {
    for (const StoredType type : kTypes) {
      for (const Index rows : {8, 60}) {
        const Problem problem{rows, 150, block_columns(type) == 256 ? 512 : 416, type};
        constexpr Activations kHow = Activations::rounded;  // the others never differ
        Context one({.threads = 1, .target = target, .activations = kHow}),
            three({.threads = 3, .target = target, .activations = kHow});
        const Tensor whole = problem.run(one, problem.x), again = problem.run(three, problem.x);
        for (Index r = 0; r < rows; ++r) ASSERT_TRUE(same_rows(whole, r, again, r, 150));
        const Index least = rows == 8 ? 1 : 9;
        for (const Index n : {least, least + 1, least + 4, least + 6}) {
          const Tensor part = problem.run(one, first_rows(problem.x, 1, n));
          for (Index r = 0; r < n; ++r) ASSERT_TRUE(same_rows(whole, r + 1, part, r, 150)) << name_of(type);
        }
      }
    }
  }
}

// Many rows have the bits of the f32 product; matrices [in, out] have them for few rows too.
TEST(StoredProduct, HasTheBitsOfTheProductInF32) {
  for (const WeightLayout layout : {WeightLayout::out_in, WeightLayout::in_out}) {
    for (const StoredType type : kTypes) {
      if (in_blocks(type) && layout == WeightLayout::in_out) continue;
      const Problem problem{30, 70, in_blocks(type) ? 768 : 800, type, layout};
      Context ctx({.threads = 2});
      Tensor w(problem.w.shape());
      for (Index r = 0; r < w.dim(0); ++r) read_row(ctx, problem.w, r, w.as<float>() + r * w.dim(1));
      Tensor wanted({30, 70});
      multiply(ctx, {.a = problem.x,
                     .b = w,
                     .c = wanted,
                     .b_form = layout == WeightLayout::out_in ? MatrixForm::transposed : MatrixForm::plain,
                     .bias = problem.bias});
      const Tensor found = problem.run(ctx, problem.x);
      for (Index r = 0; r < 30; ++r) ASSERT_TRUE(same_rows(found, r, wanted, r, 70)) << name_of(type);
      if (layout == WeightLayout::out_in) continue;
      const Tensor few = problem.run(ctx, first_rows(problem.x, 5, 3));
      for (Index r = 0; r < 3; ++r) ASSERT_TRUE(same_rows(few, r, wanted, r + 5, 70)) << name_of(type);
    }
  }
}

// Numbers of every size, and some that are none.
TEST(StoredProduct, RoundsRowsOfAnySize) {
  Context ctx({.threads = 1, .activations = Activations::rounded});
  const struct {
    StoredType type;
    Index depth;
  } types[] = {
      {StoredType::q8_0, 96}, {StoredType::q5_1, 96}, {StoredType::q4_k, 512}, {StoredType::q6_k, 256}};
  for (const float factor : {0.0F, 1e-42F, 1e-33F, 1e-20F, 1e30F, 2e36F}) {
    for (const auto& [type, depth] : types) {
      for (const Index rows : {2, 20}) {
        // The matrix unit takes what is smaller than the smallest normal number for zero; so do sums of 8 bits.
        // Made-up blocks hold large numbers, whose sums would be infinite.
        if ((rows > 8 || in_bytes(type)) && factor > 0 && factor < 1e-30F) continue;
        if (in_bytes(type) && factor > 1e31F) continue;
        Problem problem{rows, 20, depth, type};
        for (Index i = 0; i < rows * depth; ++i) problem.x.as<float>()[i] *= factor;
        problem.expect_right(ctx);
      }
    }
  }
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    for (const Index choice : {0, 1, 2, 3, 4, 5, 6, 7}) {
      const Index rows = choice % 2 == 0 ? 2 : 20;
      Problem problem{rows, 20, types[choice / 2].depth, types[choice / 2].type};
      problem.x.as<float>()[40] = bad;
      const Tensor y = problem.run(ctx, problem.x);
      for (Index j = 0; j < 20; ++j) {
        EXPECT_FALSE(std::isfinite(y.at(0, j)));
        EXPECT_TRUE(std::isfinite(y.at(1, j)));
      }
    }
  }
}

TEST(StoredProduct, SeveralMatricesAtOnce) {
  Context ctx({.threads = 2});
  for (const Index rows : {2, 40}) {
    const Problem a{rows, 100, 64, StoredType::q8_0}, b{rows, 30, 64, StoredType::f16};
    Tensor y({rows, 130});
    const auto part = [&](Index first, Index n) {
      return TensorView(y.as<float>() + first, DType::f32, {rows, n}, {130, 1});
    };
    const StoredFactor factors[] = {{a.w, part(0, 100), a.bias}, {b.w, part(100, 30), b.bias}};
    multiply_stored(ctx, a.x, factors);
    const Tensor ya = a.run(ctx, a.x), yb = b.run(ctx, a.x);
    for (Index r = 0; r < rows; ++r) {
      EXPECT_EQ(std::memcmp(y.as<float>() + r * 130, ya.as<float>() + r * 103, 400), 0);
      EXPECT_EQ(std::memcmp(y.as<float>() + r * 130 + 100, yb.as<float>() + r * 33, 120), 0);
    }
  }
}

TEST(StoredProduct, Refuses) {
  Context ctx({.threads = 1});
  const Problem p{2, 32, 64, StoredType::q8_0};
  Tensor y({2, 32}), wrong({2, 31});
  const auto run = [&](const StoredFactor& f) { multiply_stored(ctx, p.x, std::span(&f, 1)); };
  using headlight::testing::expect_error;
  expect_error(
      [&] {
        run({p.w, wrong.view()});
      },
      ErrorKind::usage, "matmul.stored",
      "shapes do not fit\n  x is f32 [2, 64], w q8_0 [32, 64], y f32 [2, 31]");
  const StoredMatrix empty(32, 64), square = StoredMatrix::from(noise(64, 32, 1), StoredType::q8_0);
  expect_error(
      [&] {
        run({empty, y.view()});
      },
      ErrorKind::usage, "matmul.stored", "the matrix was not loaded");
  expect_error(
      [&] {
        run({square, y.view(), {}, WeightLayout::in_out});
      },
      ErrorKind::usage, "matmul.stored", "the matrix must be [out, in]");
}

// Every type, both ways of storing, few rows and many; widths that members cannot share evenly. Two, three and four members
// in turn: threads that wait for each other on few cores take more time than the products.
TEST(StoredProduct, ATeamOfAnySizeGivesTheBitsOfOneProcess) {
  int size = 2;
  for (const StoredType type : kTypes) {
    for (const WeightLayout layout : {WeightLayout::out_in, WeightLayout::in_out}) {
      if (layout == WeightLayout::in_out && in_blocks(type)) continue;
      size = size == 4 ? 2 : size + 1;
      const Problem few{3, 208, 512, type, layout}, many{17, 208, 512, type, layout};
      for (const Activations activations : {Activations::exact, Activations::rounded}) {
        Context alone({.threads = 1, .activations = activations});
        const Tensor expected[] = {few.run(alone, few.x), many.run(alone, many.x)};
        testing::with_team(size, [&](Team& team) {
          Context ctx({.activations = activations, .executor = team_executor(team, Together::products, 1)});
          const Tensor found[] = {few.run(ctx, few.x), many.run(ctx, many.x)};
          for (int n = 0; n < 2; ++n)
            EXPECT_EQ(std::memcmp(found[n].as<float>(), expected[n].as<float>(),
                                  static_cast<std::size_t>(found[n].shape().elements()) * sizeof(float)),
                      0)
                << name_of(type) << ", " << (n == 0 ? 3 : 17) << " rows, " << size << " members";
        });
      }
    }
  }
}

// What a member multiplies, not only what it gets: the rows of the others are never read.
TEST(StoredProduct, AMemberReadsItsOwnRowsOnly) {
  const Index columns = 256, depth = 64;
  const Tensor x = noise(2, depth, 1), numbers = noise(columns, depth, 2);
  testing::with_team(4, [&](Team& team) {
    Tensor own({columns, depth});  // zeros but for the share of this member
    const Index first = team.rank() * columns / 4;
    std::memcpy(own.as<float>() + first * depth, numbers.as<float>() + first * depth,
                static_cast<std::size_t>(columns / 4 * depth) * sizeof(float));
    const StoredMatrix w = StoredMatrix::from(own, StoredType::f32),
                       whole = StoredMatrix::from(numbers, StoredType::f32);
    Context ctx({.executor = team_executor(team, Together::products, 1)}), alone({.threads = 1});
    Tensor y({2, columns}), expected({2, columns});
    const StoredFactor factor{w, y.view()}, all{whole, expected.view()};
    multiply_stored(ctx, x, std::span(&factor, 1));
    multiply_stored(alone, x, std::span(&all, 1));
    EXPECT_EQ(std::memcmp(y.as<float>(), expected.as<float>(), static_cast<std::size_t>(2 * columns) * 4), 0);
  });
}

}  // namespace
}  // namespace headlight::nn
