// Matrices of 8-bit integers with one f32 scale per row, the format of the bundled models. In a
// file a matrix NAME of dtype I8 [rows, columns] has the tensor NAME_scale, F32 [rows], beside it:
// element [r, c] is NAME[r, c] · NAME_scale[r].
#pragma once

#include <string>
#include <string_view>

#include "models/weights.h"

namespace headlight::models {

[[nodiscard]] std::string scale_name(std::string_view matrix);

// Whether a tensor is one of these matrices by its type. All below throw Error{input} when its scales are
// missing or misshapen.
[[nodiscard]] bool is_int8_matrix(const StoredTensor& tensor);
void check_scales(const WeightSource& weights, const StoredTensor& matrix);
[[nodiscard]] Tensor load_scales(const WeightSource& weights, const StoredTensor& matrix);
// As floats, into memory for as many elements.
void load_int8_matrix(const WeightSource& weights, const StoredTensor& matrix, TensorView to);

}  // namespace headlight::models
