// What the tests of the kernels share: each runs on every SIMD target of this machine.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "support/targets.h"

namespace headlight::testing {

class KernelTest : public ::testing::TestWithParam<SimdTarget> {
 protected:
  template <class T>
  [[nodiscard]] const kernels::AttentionKernels<T>& of() const {
    return kernels::kernels_for(GetParam()).of<T>();
  }
};

// 64-byte aligned elements, which the kernels ask of scratch.
template <class T>
class Aligned {
 public:
  explicit Aligned(Index n, double fill = 0)
      : tensor_({n + 1}, sizeof(T) == 4 ? DType::f32 : DType::f64), n_(n) {
    for (T& x : *this) x = static_cast<T>(fill);
  }
  [[nodiscard]] T* data() { return tensor_.as<T>(); }
  [[nodiscard]] const T* data() const { return tensor_.as<T>(); }
  [[nodiscard]] T* begin() { return data(); }
  [[nodiscard]] T* end() { return data() + n_; }
  [[nodiscard]] T& operator[](Index i) { return data()[i]; }
  [[nodiscard]] T operator[](Index i) const { return data()[i]; }
  [[nodiscard]] Index size() const { return n_; }
  [[nodiscard]] bool same_bits(const Aligned& other) const {
    return n_ == other.n_ && std::memcmp(data(), other.data(), sizeof(T) * static_cast<std::size_t>(n_)) == 0;
  }

 private:
  Tensor tensor_;
  Index n_;
};

template <class T>
[[nodiscard]] bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

}  // namespace headlight::testing
