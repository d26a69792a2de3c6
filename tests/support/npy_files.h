// .npy files for tests of the program.
#pragma once

#include <string>

#include "headlight/tensor.h"

namespace headlight::testing {

void save_npy(const std::string& path, const Tensor& tensor);
[[nodiscard]] Tensor load_npy(const std::string& path);
// Reproducible numbers between -1 and 1.
[[nodiscard]] Tensor noise(const Shape& shape, unsigned seed, DType dtype = DType::f32);

}  // namespace headlight::testing
