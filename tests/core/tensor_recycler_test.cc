// Tensors that are not zeroed, and tensors whose memory is used again.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "headlight/error.h"
#include "headlight/tensor.h"
#include "support/sanitizers.h"

namespace headlight::testing {
namespace {

TEST(UninitializedTensors, AreTensorsInEveryOtherWay) {
  Tensor x = Tensor::uninitialized({2, 3, 5}, DType::f64);
  EXPECT_EQ(x.shape(), Shape({2, 3, 5}));
  EXPECT_EQ(x.dtype(), DType::f64);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.as<double>()) % 64, 0U);
  for (int i = 0; i < 30; ++i) x.as<double>()[i] = i;
  EXPECT_EQ(x.at(1, 2, 4), 29);
  EXPECT_EQ(x.clone().at(1, 2, 4), 29);
  EXPECT_EQ(Tensor::uninitialized({4}).dtype(), DType::f32);
}

TEST(UninitializedTensors, MayHaveNoElements) {
  const Tensor none = Tensor::uninitialized({3, 0});
  EXPECT_FALSE(none.empty()) << "given, without elements";
  EXPECT_EQ(none.shape().elements(), 0);
}

TEST(UninitializedTensors, RefuseSizesBeyondMemory) {
  EXPECT_THROW((void)Tensor::uninitialized({-1}), Error);
  EXPECT_THROW((void)Tensor::uninitialized({Index{1} << 40, Index{1} << 40}), Error);
  if (kSanitized) return;  // a sanitizer's allocator ends the program
  try {
    (void)Tensor::uninitialized({Index{1} << 58});
    FAIL() << "accepted";
  } catch (const Error& error) { EXPECT_EQ(error.kind(), ErrorKind::resource); }
}

TEST(Recycling, HandsTheSameMemoryOutAgain) {
  const TensorRecycler recycler;
  const float* place = nullptr;
  {
    Tensor first = Tensor::uninitialized({300, 70});
    place = first.as<float>();
  }
  const std::size_t before = TensorRecycler::allocations();
  const Tensor again = Tensor::uninitialized({70, 300});
  EXPECT_EQ(again.as<float>(), place);
  const Tensor other = Tensor::uninitialized({70, 300});
  EXPECT_NE(other.as<float>(), place) << "one piece for two tensors";
  EXPECT_EQ(TensorRecycler::allocations(), before + 1);
}

TEST(Recycling, AnOrdinaryTensorIsZeroedAllTheSame) {
  const TensorRecycler recycler;
  for (int n = 0; n < 3; ++n) {
    Tensor x({33, 65});
    for (Index i = 0; i < x.shape().elements(); ++i) ASSERT_EQ(x.as<float>()[i], 0) << n << " " << i;
    std::memset(x.as<std::byte>(), 0xFF, 33 * 65 * 4);
  }
}

TEST(Recycling, EndsWithItsOwner) {
  const std::size_t before = TensorRecycler::allocations();
  { const Tensor a({1000}); }
  { const Tensor b({1000}); }
  EXPECT_EQ(TensorRecycler::allocations(), before + 2) << "without one, every tensor asks the system";
  Tensor kept;
  {
    const TensorRecycler recycler;
    kept = Tensor({1000});
    kept.as<float>()[999] = 7;
    { const Tensor c({1000}); }
  }
  EXPECT_EQ(kept.at(999), 7) << "a tensor may outlive the recycler that it came from";
}

TEST(Recycling, InnerOnesDoNotEmptyOuterOnes) {
  const TensorRecycler outer;
  { const Tensor a({5000}); }
  {
    const TensorRecycler inner;
    const std::size_t before = TensorRecycler::allocations();
    { const Tensor b({5000}); }
    { const Tensor c({5000}); }
    EXPECT_EQ(TensorRecycler::allocations(), before + 1);
  }
  const std::size_t before = TensorRecycler::allocations();
  const Tensor d({5000});
  EXPECT_EQ(TensorRecycler::allocations(), before) << "the outer one still has what it kept";
}

// Each thread has its own; a tensor may be let go by a thread that has none.
TEST(Recycling, BelongsToAThread) {
  const TensorRecycler recycler;
  Tensor mine({2000});
  std::thread([&] {
    const std::size_t before = TensorRecycler::allocations();
    EXPECT_EQ(before, 0U) << "another thread's count";
    { const Tensor moved = std::move(mine); }
    { const Tensor a({2000}); }
    { const Tensor b({2000}); }
    EXPECT_EQ(TensorRecycler::allocations(), 2U);
  }).join();
  const std::size_t before = TensorRecycler::allocations();
  const Tensor again({2000});
  EXPECT_EQ(TensorRecycler::allocations(), before + 1) << "it went back to the system there";
}

}  // namespace
}  // namespace headlight::testing
