// A Block's rules point at rows inside of it: a copy would read those of the original, which may be gone.
#include "attention/block.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace headlight::testing {
namespace {

template <class T>
constexpr bool kStays = !std::is_copy_constructible_v<Block<T>> && !std::is_move_constructible_v<Block<T>> &&
                        !std::is_copy_assignable_v<Block<T>> && !std::is_move_assignable_v<Block<T>>;
static_assert(kStays<float> && kStays<double>);

TEST(Blocks, PointIntoThemselvesAlone) {
  Context ctx({.threads = 1});
  const Tensor q({1, 2, 5, 8}), k({1, 2, 7, 8}), v({1, 2, 7, 8}), bias({1, 2, 5, 7});
  const AttentionOptions options{.bias = bias, .dropout = {.rate = 0.1, .seed = 1}};
  const Problem problem = check_call("test", q, k, v, options);
  const auto& kernels = kernels_of<float>(ctx, problem);
  const TilePlan plan = tile_plan(problem, kernels);
  const Unit unit = unit_of(problem, 1);
  const Block<float> block(problem, plan, kernels, unit, 0, unit.rows(), {});
  EXPECT_EQ(block.rules.rows, block.rule);
  EXPECT_EQ(block.dropout.head, block.head);
  EXPECT_EQ(block.dropout.query, block.query);
}

}  // namespace
}  // namespace headlight::testing
