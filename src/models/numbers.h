// Initial values of parameters: a pure function of seed, index of the parameter, and index of the element.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "core/random.h"
#include "headlight/tensor.h"

namespace headlight::models {

class InitialNumbers {
 public:
  InitialNumbers(std::uint64_t seed, std::size_t parameter)
      : key0_(static_cast<std::uint32_t>(seed)),
        key1_(static_cast<std::uint32_t>(seed >> 32)),
        parameter_(static_cast<std::uint32_t>(parameter)) {}
  [[nodiscard]] double normal(Index i) const {
    const PhiloxCounter w = words(i);
    return std::sqrt(-2 * std::log(open(w[0], w[1]))) * std::cos(2 * std::numbers::pi * open(w[2], w[3]));
  }
  [[nodiscard]] double uniform(Index i) const {  // -1 … 1
    const PhiloxCounter w = words(i);
    return 2 * open(w[0], w[1]) - 1;
  }
  // Fills a whole tensor with size·normal or size·uniform numbers.
  enum class Shape : std::uint8_t { normal, uniform };
  void fill(Tensor& tensor, Shape shape, double size) const {
    const Index n = tensor.shape().elements();
    for (Index i = 0; i < n; ++i) {
      const double x = size * (shape == Shape::normal ? normal(i) : uniform(i));
      if (tensor.dtype() == DType::f64) tensor.as<double>()[i] = x;
      else tensor.as<float>()[i] = static_cast<float>(x);
    }
  }

 private:
  [[nodiscard]] PhiloxCounter words(Index i) const {
    return philox(
        {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), parameter_, 0x494E4954U}, key0_,
        key1_);
  }
  // Above 0 and below 1, with 52 random bits.
  [[nodiscard]] static double open(std::uint32_t high, std::uint32_t low) {
    const std::uint64_t bits = (static_cast<std::uint64_t>(high) << 32 | low) >> 12;
    return (static_cast<double>(bits) + 0.5) * 0x1p-52;
  }
  std::uint32_t key0_, key1_, parameter_;
};

}  // namespace headlight::models
