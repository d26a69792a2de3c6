// A module's gradients, of its input and of all its parameters, against central differences in f64.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "headlight/nn.h"
#include "support/central_difference.h"

namespace headlight::nn {

using headlight::testing::fill;

inline Tensor random_tensor(const Shape& shape, std::uint64_t seed, double size = 1) {
  Tensor x(shape, DType::f64);
  fill(x.view(), seed, size);
  return x;
}

// Σ weight·y: a loss whose gradient with respect to y is `weight`.
inline double dot(const ConstTensorView& weight, const ConstTensorView& y) {
  double sum = 0;
  for (Index i = 0; i < y.shape().elements(); ++i) sum += weight.as<double>()[i] * y.as<double>()[i];
  return sum;
}

struct NamedInput {
  const char* name;
  TensorView value;
  ConstTensorView grad;
};

// `loss` computes the forward pass anew; the gradients must be there already.
inline void expect_gradients(const Parameters& parameters, const std::vector<NamedInput>& inputs,
                             const std::function<double()>& loss, double limit = 1e-8) {
  headlight::testing::Difference worst = headlight::testing::compare_parameters(parameters, loss);
  for (const NamedInput& input : inputs)
    headlight::testing::compare_differences(input.name, input.value, input.grad, loss, worst);
  EXPECT_LT(worst.worst, limit) << worst.where;
}

}  // namespace headlight::nn
