// Matrices of 8-bit whole numbers with one f32 factor per row, as Headlight stores its own small models. In a
// file a matrix NAME of dtype I8 [rows, columns] has the tensor NAME_scale, F32 [rows], beside it:
// element [r, c] is NAME[r, c] · NAME_scale[r].
#pragma once

#include <string>

#include "models/load.h"

namespace headlight::models {

[[nodiscard]] inline std::string scale_name(const std::string& matrix) { return matrix + "_scale"; }

// Whether a tensor is one of these matrices by its dtype. Whoever takes it for one calls a function below,
// which throws Error{input} when its factors are missing or misshapen.
[[nodiscard]] bool is_int8_matrix(const io::SafetensorsEntry& entry);
[[nodiscard]] Tensor load_scales(const WeightFiles& files, const io::SafetensorsEntry& matrix);
// As floats, into memory of as many elements.
void load_int8_matrix(const WeightFiles& files, const WeightFiles::Place& matrix, TensorView to);

}  // namespace headlight::models
