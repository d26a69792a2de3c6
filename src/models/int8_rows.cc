#include "models/int8_rows.h"

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <vector>

#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::models {

bool is_int8_matrix(const io::SafetensorsEntry& entry) {
  return entry.dtype == "I8" && entry.shape.size() == 2;
}

Tensor load_scales(const WeightFiles& files, const io::SafetensorsEntry& matrix) {
  const std::string name = scale_name(matrix.name);
  const WeightFiles::Place scales = files.find(name);
  const std::string why = fmt::format("\"{}\" is I8 and needs \"{}\", F32 [{}]", escaped(matrix.name, 80),
                                      escaped(name, 80), matrix.shape.front());
  if (scales.entry == nullptr)
    throw Error(ErrorKind::input, "model.scale", fmt::format("{}, which is not there", why));
  const bool good = scales.entry->dtype == "F32" && scales.entry->shape.size() == 1 &&
                    scales.entry->shape.front() == matrix.shape.front();
  if (!good)
    throw Error(ErrorKind::input, "model.scale",
                fmt::format("{}: {}, which is {} [{}]", escaped(scales.file->name()), why,
                            scales.entry->dtype, fmt::join(scales.entry->shape, ", ")));
  return scales.file->load(*scales.entry, DType::f32);
}

void load_int8_matrix(const WeightFiles& files, const WeightFiles::Place& matrix, TensorView to) {
  const Tensor scales = load_scales(files, *matrix.entry);
  const auto rows = static_cast<std::size_t>(matrix.entry->shape[0]),
             columns = static_cast<std::size_t>(matrix.entry->shape[1]);
  std::vector<std::int8_t> numbers(rows * columns);
  matrix.file->read(*matrix.entry, std::as_writable_bytes(std::span(numbers)));
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
