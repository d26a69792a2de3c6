// The baseline of "ratio to unfused" must be attention too, or the ratio means nothing.
#include "measure/unfused.h"

#include <gtest/gtest.h>

#include "attention/accuracy.h"
#include "headlight/reference.h"
#include "measure/workloads.h"

namespace headlight::measure {
namespace {

struct Case {
  Index batch, heads, kv_heads, q_len, k_len, dim;
  bool causal;
};

class UnfusedTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    blas_ = Cblas::load();
    if (!blas_) GTEST_SKIP() << "no CBLAS on this machine: the bench has no ratios either";
  }
  std::unique_ptr<Cblas> blas_;
};

TEST_P(UnfusedTest, AgreesWithTheReference) {
  const Case c = GetParam();
  Tensor q(Shape{c.batch, c.heads, c.q_len, c.dim}), k(Shape{c.batch, c.kv_heads, c.k_len, c.dim}),
      v(k.shape());
  fill_normal(q, 1);
  fill_normal(k, 2);
  fill_normal(v, 3);
  const AttentionOptions options{.visible = c.causal ? Visibility::causal() : Visibility::all()};
  const accuracy::Exact exact(q.view(), k.view(), v.view(), options);
  for (const Unfused::Split split : {Unfused::Split::heads, Unfused::Split::rows}) {
    for (const int threads : {1, 3}) {
      Unfused unfused(*blas_, threads, split);
      Tensor out(q.shape()), weights(Shape{c.batch, c.heads, c.q_len, c.k_len});
      unfused.forward(q.view(), k.view(), v.view(), c.causal, out.view());
      // A BLAS promises less than we do: its sums run over all keys in one chain.
      EXPECT_LE(exact.scaled_error(out.view()), 8);
      Tensor again(q.shape());
      unfused.forward(q.view(), k.view(), v.view(), c.causal, again.view(), weights.view());
      EXPECT_LE(exact.scaled_error(again.view()), 8);
      EXPECT_LE(exact.row_sum_error(weights.view(), {}), 4);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, UnfusedTest,
                         ::testing::Values(Case{1, 1, 1, 6, 6, 3, false}, Case{2, 4, 4, 33, 33, 16, false},
                                           Case{2, 4, 4, 33, 33, 16, true}, Case{1, 6, 2, 40, 40, 24, true},
                                           Case{1, 2, 2, 7, 65, 64, true},
                                           Case{1, 2, 1, 130, 130, 64, false}));

TEST(SoftmaxRows, MaskedColumnsAreZeroAndTheRestSumsToOne) {
  for (const Index columns : {1, 7, 15, 16, 17, 64, 100}) {
    Tensor scores(Shape{columns, columns});
    fill_normal(scores, 7);
    softmax_rows({scores.as<float>(), columns, true, columns}, 0, columns);
    for (Index i = 0; i < columns; ++i) {
      double sum = 0;
      for (Index j = 0; j <= i; ++j) sum += scores.at(i, j);
      EXPECT_NEAR(sum, 1, 1e-6) << columns << " columns, row " << i;
      for (Index j = i + 1; j < columns; ++j)
        EXPECT_EQ(scores.at(i, j), 0) << columns << " columns, row " << i;
    }
  }
}

}  // namespace
}  // namespace headlight::measure
