// The scaled error must see small mistakes: a check that cannot fail is worse than none.
#include "attention/accuracy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "headlight/reference.h"
#include "support/random.h"

namespace headlight::accuracy {
namespace {

class AccuracyTest : public ::testing::Test {
 protected:
  AccuracyTest() {
    testing::Random random(1);
    for (Tensor* x : {&q_, &k_, &v_}) {
      for (Index i = 0; i < x->shape().elements(); ++i)
        x->as<float>()[i] = static_cast<float>(random.normal());
    }
    reference::attention(q_, k_, v_, options_, {.out = out_.view(), .weights = weights_.view()});
  }
  Tensor q_{Shape{1, 2, 17, 16}}, k_{Shape{1, 2, 17, 16}}, v_{Shape{1, 2, 17, 16}}, out_{Shape{1, 2, 17, 16}};
  Tensor weights_{Shape{1, 2, 17, 17}};
  AttentionOptions options_{.visible = Visibility::causal()};
};

TEST_F(AccuracyTest, TheReferenceIsExact) {
  const Exact exact(q_, k_, v_, options_);
  EXPECT_LT(exact.scaled_error(out_.view()), 1);
  EXPECT_LE(exact.row_sum_error(weights_.view(), {}), 1);
}

TEST_F(AccuracyTest, SeesOneWrongElement) {
  const Exact exact(q_, k_, v_, options_);
  out_.view().set(0, 1, 16, 15, out_.at(0, 1, 16, 15) + 1e-4);
  EXPECT_GT(exact.scaled_error(out_.view()), error_limit(DType::f32));
  out_.view().set(0, 1, 16, 15, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(exact.scaled_error(out_.view()), std::numeric_limits<double>::infinity());
}

TEST(ScaledError, IsZeroWithinTheSlackAndInfiniteForANan) {
  const RowBound row{.keys = 4, .hardness = 1};  // u·(1 + 1 + 2)·size
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(scaled_error(1.5, 1, 0x1p-24, row, 1, 0.5), 0);
  EXPECT_EQ(scaled_error(1.5, 1, 0.125, row, 2, 0.25), 0.25);
  EXPECT_EQ(scaled_error(nan, 1, 0x1p-24, row, 1, 10), std::numeric_limits<double>::infinity());
  EXPECT_EQ(scaled_error(1, nan, 0x1p-24, row, 1, 10), std::numeric_limits<double>::infinity());
}

TEST_F(AccuracyTest, SeesAMaskThatIsOffByOne) {
  AttentionOptions wrong = options_;
  wrong.visible.right = 1;
  const Exact exact(q_, k_, v_, wrong);
  EXPECT_GT(exact.scaled_error(out_.view()), error_limit(DType::f32));
}

TEST_F(AccuracyTest, SeesWeightsThatDoNotSumToOne) {
  const Exact exact(q_, k_, v_, options_);
  weights_.view().set(0, 0, 5, 2, weights_.at(0, 0, 5, 2) + 1e-4);
  EXPECT_GT(exact.row_sum_error(weights_.view(), {}), 1);
}

}  // namespace
}  // namespace headlight::accuracy
