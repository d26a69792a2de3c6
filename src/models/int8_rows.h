// Matrices of 8-bit whole numbers with one f32 factor per row, as Headlight stores its own small models. In a
// file a matrix NAME of dtype I8 [rows, columns] has the tensor NAME_scale, F32 [rows], beside it:
// element [r, c] is NAME[r, c] · NAME_scale[r].
#pragma once

#include <string>
#include <string_view>

#include "models/weights.h"

namespace headlight::models {

[[nodiscard]] inline std::string scale_name(std::string_view matrix) {
  return std::string(matrix) + "_scale";
}

// Whether a tensor is one of these matrices by its dtype. Whoever takes it for one calls a function below.
[[nodiscard]] bool is_int8_matrix(const io::SafetensorsEntry& entry);
[[nodiscard]] bool is_int8_matrix(const StoredTensor& tensor);
// Throw Error{input} when the factors are missing or misshapen.
void check_scales(const WeightSource& weights, const StoredTensor& matrix);
[[nodiscard]] Tensor load_scales(const WeightSource& weights, const StoredTensor& matrix);
// As floats, into memory of as many elements.
void load_int8_matrix(const WeightSource& weights, const StoredTensor& matrix, TensorView to);

}  // namespace headlight::models
