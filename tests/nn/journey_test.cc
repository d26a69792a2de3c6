// "Your journey starts with one step" through the modules: the tutorials' SelfAttention, its causal form on
// a batch, and MultiHeadAttention with its output projection. Numbers as golden/journey.md has them.
#include <gtest/gtest.h>

#include <vector>

#include "headlight/nn.h"

namespace headlight::nn {
namespace {

const std::vector<double> kWords = {0.43, 0.15, 0.89, 0.55, 0.87, 0.66, 0.57, 0.85, 0.64,
                                    0.22, 0.58, 0.33, 0.77, 0.25, 0.10, 0.05, 0.80, 0.55};
// G4, [out, in]
const std::vector<double> kQuery = {-0.23542964, 0.01912445,  -0.28674594,
                                    0.21772665,  -0.49193421, 0.42322314};
const std::vector<double> kKey = {-0.41964141, -0.45901766, -0.36482018, 0.26147819, -0.21332639, 0.21605217};
const std::vector<double> kValue = {-0.49001414, -0.35029209, -0.21198919,
                                    -0.11346072, -0.44043937, 0.37804359};

void expect_rows(const ConstTensorView& found, const std::vector<double>& wanted, double limit = 2e-6) {
  ASSERT_EQ(found.shape().elements(), static_cast<Index>(wanted.size()));
  for (Index i = 0; i < found.dim(0); ++i)
    for (Index j = 0; j < found.dim(1); ++j)
      EXPECT_NEAR(found.at(i, j), wanted[static_cast<std::size_t>(i * found.dim(1) + j)], limit)
          << i << ", " << j;
}

class ModuleJourney : public ::testing::TestWithParam<DType> {
 protected:
  [[nodiscard]] Tensor words() const { return Tensor::from(kWords, {6, 3}, GetParam()); }
  void set(Parameter& parameter, const std::vector<double>& values) const {
    parameter.value = Tensor::from(values, parameter.value.shape(), GetParam());
  }
  Context ctx_{{.threads = 1}};
};

TEST_P(ModuleJourney, SelfAttentionReturnsOutputAndWeights) {  // G3
  SelfAttention layer(3, 2, false, Visibility::all(), GetParam());
  set(layer.query.weight, {0.31605905, 0.45680857, 0.51183486, -0.16828540, -0.33787704, -0.09177387});
  set(layer.key.weight, {0.40580583, -0.47042054, 0.23680520, 0.21336073, -0.26005065, -0.51054299});
  set(layer.value.weight, {0.25256991, -0.14147827, -0.19618136, 0.51910746, -0.08516759, -0.20432705});
  Tensor weights;
  const Tensor y = layer.forward(ctx_, words(), nullptr, &weights);
  expect_rows(y, {-0.073890, 0.071290, -0.074811, 0.070309, -0.074856, 0.070242, -0.076002, 0.068450,
                  -0.076328, 0.067943, -0.075444, 0.069305});
  expect_rows(weights,
              {0.192126, 0.164646, 0.165161, 0.154994, 0.172115, 0.150958, 0.204125, 0.165883, 0.166215,
               0.149578, 0.166453, 0.147746, 0.203562, 0.165924, 0.166249, 0.149815, 0.166417, 0.148033,
               0.186888, 0.166688, 0.166836, 0.157104, 0.166091, 0.156392, 0.183045, 0.166859, 0.166957,
               0.158840, 0.165825, 0.158474, 0.193472, 0.166333, 0.166568, 0.154186, 0.166561, 0.152880});
}

TEST_P(ModuleJourney, CausalSelfAttention) {  // G4
  SelfAttention layer(3, 2, false, Visibility::causal(), GetParam());
  set(layer.query.weight, kQuery);
  set(layer.key.weight, kKey);
  set(layer.value.weight, kValue);
  expect_rows(layer.forward(ctx_, words()),
              {-0.451920, 0.221605, -0.587435, 0.005776, -0.630023, -0.063183, -0.567457, -0.084253,
               -0.552562, -0.098068, -0.529901, -0.108068});
}

TEST_P(ModuleJourney, MultiHeadAttentionOnTheSentenceTwice) {  // G6
  MultiHeadAttentionConfig config{.width = 3, .heads = 2, .head_dim = 1, .qkv_bias = false};
  config.visible = Visibility::causal();
  MultiHeadAttention layer("attention", config, GetParam());
  set(layer.query.weight, kQuery);
  set(layer.key.weight, kKey);
  set(layer.value.weight, kValue);
  // The example's output is two wide, our layers are as wide as they begin: a third row of zeros.
  set(layer.out.weight, {-0.16675782, 0.22697258, 0.50002593, 0.13173825, 0, 0});
  set(layer.out.bias, {0.19335884, 0.68254095, 0});
  std::vector<double> twice = kWords;
  twice.insert(twice.end(), kWords.begin(), kWords.end());
  const Tensor x = Tensor::from(twice, {12, 3}, GetParam());
  const std::vector<Index> starts = {0, 6, 12};
  const Tensor y = layer.forward(ctx_, x, {.starts = starts});
  const double wanted[6][2] = {{0.319018, 0.485763}, {0.294346, 0.389676}, {0.285575, 0.359278},
                               {0.269264, 0.387327}, {0.263871, 0.392796}, {0.257474, 0.402783}};
  for (Index t = 0; t < 12; ++t)
    for (Index d = 0; d < 2; ++d) EXPECT_NEAR(y.at(t, d), wanted[t % 6][d], 2e-6) << t;
}

INSTANTIATE_TEST_SUITE_P(Types, ModuleJourney, ::testing::Values(DType::f32, DType::f64),
                         [](const auto& row) { return std::string(name_of(row.param)); });

}  // namespace
}  // namespace headlight::nn
