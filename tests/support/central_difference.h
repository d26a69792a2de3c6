// Gradients of anything with parameters against central differences, in f64.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "headlight/parameters.h"
#include "support/random.h"

namespace headlight::testing {

struct Difference {
  double worst = 0;  // |gradient - difference| / (1 + largest of both)
  std::string where;
};

// Every element of `values`, whose gradient is claimed to be `grad`, moved by ±h.
inline void compare_differences(const std::string& name, const TensorView& values,
                                const ConstTensorView& grad, const std::function<double()>& loss,
                                Difference& result) {
  ASSERT_EQ(values.dtype(), DType::f64);
  const double h = 1e-5;
  const Index n = values.shape().elements();
  for (Index i = 0; i < n; ++i) {
    double& x = values.as<double>()[i];
    const double before = x;
    x = before + h;
    const double up = loss();
    x = before - h;
    const double down = loss();
    x = before;
    const double wanted = (up - down) / (2 * h);
    const double found = grad.empty() ? 0 : grad.as<double>()[i];
    const double error = std::abs(found - wanted) / (1 + std::max(std::abs(found), std::abs(wanted)));
    if (!(error <= result.worst)) {
      result.worst = error;
      result.where = name + "[" + std::to_string(i) + "]: gradient " + std::to_string(found) +
                     ", difference " + std::to_string(wanted);
    }
  }
}

inline Difference compare_parameters(const Parameters& parameters, const std::function<double()>& loss) {
  Difference result;
  for (Parameter* p : parameters) {
    if (p->trained) compare_differences(p->name, p->value, p->grad, loss, result);
  }
  return result;
}

// Numbers of the size of activations, the same everywhere.
inline void fill(const TensorView& x, std::uint64_t seed, double size = 1) {
  Random random(seed);
  for (Index i = 0; i < x.shape().elements(); ++i) {
    const double value = size * random.normal();
    if (x.dtype() == DType::f64) x.as<double>()[i] = value;
    else x.as<float>()[i] = static_cast<float>(value);
  }
}
inline void fill(const Parameters& parameters, std::uint64_t seed, double size = 0.3) {
  for (Parameter* p : parameters) fill(p->value.view(), seed++, size);
}

}  // namespace headlight::testing
