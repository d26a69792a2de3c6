#include "models/int8_rows.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::models {

std::string scale_name(std::string_view matrix) { return std::string(matrix) + "_scale"; }

bool is_int8_matrix(const StoredTensor& tensor) { return tensor.type == "I8" && tensor.shape.size() == 2; }

void check_scales(const WeightSource& weights, const StoredTensor& matrix) {
  const std::string name = scale_name(matrix.name);
  const std::optional<StoredTensor> scales = weights.find(name);
  const auto refuse = [&](const std::string& found) {
    throw Error(
        ErrorKind::input, "model.scale",
        fmt::format("{}: \"{}\" is I8 and needs \"{}\", F32 [{}], which is {}", escaped(weights.name()),
                    escaped(matrix.name, 80), escaped(name, 80), matrix.shape.front(), found));
  };
  if (!scales) refuse("not there");
  if (scales->type != "F32" || scales->shape.size() != 1 || scales->shape.front() != matrix.shape.front())
    refuse(fmt::format("{} [{}]", scales->type, fmt::join(scales->shape, ", ")));
}

Tensor load_scales(const WeightSource& weights, const StoredTensor& matrix) {
  check_scales(weights, matrix);
  Tensor values = Tensor::uninitialized({matrix.shape.front()});
  weights.load(scale_name(matrix.name), values);
  return values;
}

void load_int8_matrix(const WeightSource& weights, const StoredTensor& matrix, TensorView to) {
  const Tensor scales = load_scales(weights, matrix);
  const auto rows = static_cast<std::size_t>(matrix.shape[0]),
             columns = static_cast<std::size_t>(matrix.shape[1]);
  std::vector<std::int8_t> numbers(rows * columns);
  weights.read(matrix.name, 0, std::as_writable_bytes(std::span(numbers)));
  for (std::size_t r = 0; r < rows; ++r) {
    const float scale = scales.as<float>()[r];
    for (std::size_t i = r * columns; i < (r + 1) * columns; ++i) {
      const float value = static_cast<float>(numbers[i]) * scale;
      if (to.dtype() == DType::f64) to.as<double>()[i] = static_cast<double>(value);
      else to.as<float>()[i] = value;
    }
  }
}

}  // namespace headlight::models
