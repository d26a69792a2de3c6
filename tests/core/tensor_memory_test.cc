#include <gtest/gtest.h>

#include "core/tensor_memory.h"
#include "headlight/tensor.h"

namespace headlight {
namespace {

TEST(TensorRecycler, HandsMemoryOutAgain) {
  const TensorRecycler recycler;
  { const Tensor first({100, 100}); }
  const std::size_t before = TensorRecycler::allocations();
  for (int i = 0; i < 10; ++i) {
    const Tensor again({100, 100});
    EXPECT_EQ(again.at(99, 99), 0);
  }
  EXPECT_EQ(TensorRecycler::allocations(), before);
}

// Batches of sentences differ a little every time: that must neither allocate for ever nor hoard.
TEST(TensorRecycler, SizesThatDifferALittleShareMemory) {
  const TensorRecycler recycler;
  const std::size_t before = TensorRecycler::allocations();
  for (Index tokens = 3000; tokens < 4000; ++tokens) const Tensor x({tokens, 64});
  EXPECT_LE(TensorRecycler::allocations() - before, 5U);
}

TEST(TensorRecycler, SizesThatDifferMuchDoNotPileUp) {
  const TensorRecycler recycler;
  for (Index i = 0; i < 1000; ++i) const Tensor x({1000 + i * i % 8000, 64});
  EXPECT_LE(kept_memory(), 3U * 9000 * 64 * sizeof(float));
}

TEST(UntouchedTensors, LeaveMemoryAsItIs) {
  const TensorRecycler recycler;
  const auto leave_sevens = [] {
    Tensor x({10, 10});
    for (int i = 0; i < 100; ++i) x.as<float>()[i] = 7;
  };
  leave_sevens();
  {
    const UntouchedTensors untouched;
    EXPECT_EQ(Tensor({10, 10}).at(3, 3), 7);
  }
  leave_sevens();
  EXPECT_EQ(Tensor({10, 10}).at(3, 3), 0);
}

}  // namespace
}  // namespace headlight
