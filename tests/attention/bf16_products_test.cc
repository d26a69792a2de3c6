// Products::bf16 on inputs of 16 bits: every output within the bounds of docs/guide/attention.md, the same bits for any
// number of threads, and nothing else changed.
#include <gtest/gtest.h>

#include <memory>

#include "kernels/bf16_tile.h"
#include "support/gradients.h"
#include "support/truth.h"

namespace headlight::testing {
namespace {

constexpr double kUnit = 0x1p-8;  // of bf16

bool has_bf16_attention() { return kernels::bf16_attention_for(Context({.threads = 1}).target()) != nullptr; }

Context bf16_context(int threads, Products products = Products::bf16) {
  return Context({.threads = threads, .products = products});
}

// Inputs of bf16 have exact products, so their scores are those of f32. f16 is rounded to bf16 before them.
Rounding forward_rounding(DType dtype) {
  return {.unit = dtype == DType::f16 ? kUnit : 0, .weights = kUnit, .least = 0x1p-126};
}
Rounding backward_rounding(DType dtype) {
  // 16 units are allowed: 2^-9 for each of a row's 1 + K' + √n.
  return {.unit = dtype == DType::f16 ? kUnit : 0x1p-13, .least = 0x1p-126};
}

// q·k must fit f32 without its scale, and rounded f16 may not make a score of 10^4 one of 10^4 + 40.
bool is_bounded(const Case& c) {
  if (c.data == Data::scores_1e38 || c.data == Data::large_bias) return false;
  return c.dtype == DType::bf16 || c.data != Data::scores_1e4;
}

Case case_of(std::uint64_t seed) {
  Case c = random_training_case(seed);
  c.dtype = seed % 2 == 0 ? DType::bf16 : DType::f16;
  return c;
}

class Bf16Products : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!has_bf16_attention()) GTEST_SKIP() << "this CPU has no avx512_bf16";
  }
  static constexpr int kCases = 40;
  [[nodiscard]] static std::uint64_t first_seed() {
    return 500'000 + static_cast<std::uint64_t>(GetParam()) * kCases;
  }
};

TEST_P(Bf16Products, ForwardStaysWithinItsBound) {
  Context ctx = bf16_context(2);
  for (std::uint64_t seed = first_seed(); seed < first_seed() + kCases; ++seed) {
    const Instance x(case_of(seed));
    if (!is_bounded(x.c)) continue;
    const Results found(x, x.c.dtype, x.c.statistics);
    attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, found.views());
    ASSERT_EQ(Truth(x).check(found, forward_rounding(x.c.dtype)).problem, "")
        << "case " << seed << " " << describe(x.c);
  }
}

TEST_P(Bf16Products, GradientsStayWithinTheirBound) {
  Context ctx = bf16_context(2);
  for (std::uint64_t seed = first_seed(); seed < first_seed() + kCases; ++seed) {
    const Instance x(case_of(seed + 100'000));
    if (!is_bounded(x.c)) continue;
    const BackwardInputs in(x);
    attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, in.out.view(), in.lse.view());
    const Gradients found(x, x.c.dtype);
    attention_backward(ctx, in.saved(x), in.dout.view(), x.options, found.views());
    const GradientTruth truth(x, in.dout.view(), in.out.view(), in.lse.view());
    ASSERT_EQ(truth.check(found, x.c.dtype, backward_rounding(x.c.dtype)).problem, "")
        << "case " << seed << " " << describe(x.c);
  }
}

TEST_P(Bf16Products, AnyNumberOfThreadsGivesTheSameBits) {
  Context one = bf16_context(1);
  std::vector<std::unique_ptr<Context>> many;
  for (const int threads : {2, 3, 8})
    many.push_back(std::make_unique<Context>(ContextOptions{.threads = threads, .products = Products::bf16}));
  for (std::uint64_t seed = first_seed(); seed < first_seed() + kCases / 4; ++seed) {
    Case c = case_of(seed + 200'000);
    if (seed % 10 == 0) c.q_len = 130, c.k_len = 1300, c.ragged = Ragged::none, c.q_ends = c.k_ends = {};
    const Instance x(c);
    const auto run = [&](Context& ctx) {
      auto both = std::make_pair(Results(x, c.dtype, c.statistics), Gradients(x, c.dtype));
      const BackwardInputs in(x);
      attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, both.first.views());
      attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, in.out.view(), in.lse.view());
      attention_backward(ctx, in.saved(x), in.dout.view(), x.options, both.second.views());
      return both;
    };
    const auto wanted = run(one);
    for (const auto& ctx : many) {
      const auto found = run(*ctx);
      ASSERT_TRUE(wanted.first.same_bits(found.first)) << ctx->threads() << " threads " << describe(c);
      ASSERT_TRUE(wanted.second.same_bits(found.second)) << ctx->threads() << " threads " << describe(c);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, Bf16Products, ::testing::Range(0, 8));

// A row has the same bits alone: neighbours and what is hidden from it change nothing.
TEST(Bf16ProductsRows, HaveTheSameBitsAlone) {
  if (!has_bf16_attention()) GTEST_SKIP() << "this CPU has no avx512_bf16";
  Context ctx = bf16_context(1);
  const Instance x(
      Case{.seed = 3, .q_len = 37, .k_len = 301, .dim = 40, .value_dim = 24, .dtype = DType::bf16});
  const Results whole(x, x.c.dtype, false);
  attention_forward(ctx, x.q.view(), x.k.view(), x.v.view(), x.options, whole.views());
  for (const Index row : {Index{0}, Index{5}, Index{36}}) {
    const TensorView q = x.q.view();
    const ConstTensorView one(q.as<std::byte>() + row * q.stride(2) * 2, q.dtype(), {1, 1, 1, 40},
                              {q.stride(0), q.stride(1), q.stride(2), 1});
    Tensor out({1, 1, 1, 24}, DType::bf16);
    attention_forward(ctx, one, x.k.view(), x.v.view(), x.options, out);
    for (Index d = 0; d < 24; ++d) ASSERT_EQ(out.at(0, 0, 0, d), whole.out.view().at(0, 0, row, d));
  }
}

TEST(Bf16ProductsOption, ChangesInputsOf16BitsAlone) {
  Context exact = bf16_context(1, Products::exact), bf16 = bf16_context(1);
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    const Instance x(Case{.seed = 9, .q_len = 70, .k_len = 90, .dim = 32, .value_dim = 32, .dtype = dtype});
    const Results a(x, dtype, true), b(x, dtype, true);
    attention_forward(exact, x.q.view(), x.k.view(), x.v.view(), x.options, a.views());
    attention_forward(bf16, x.q.view(), x.k.view(), x.v.view(), x.options, b.views());
    const bool narrow = dtype == DType::f16 || dtype == DType::bf16;
    EXPECT_EQ(a.same_bits(b), !(narrow && has_bf16_attention())) << name_of(dtype);
  }
}

}  // namespace
}  // namespace headlight::testing
