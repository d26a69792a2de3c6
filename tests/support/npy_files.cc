#include "support/npy_files.h"

#include <random>

#include "io/npy.h"

namespace headlight::testing {

void save_npy(const std::string& path, const Tensor& tensor) {
  io::Outputs outputs(io::Existing::replace);
  outputs.reserve(path);
  io::write_npy(outputs, path, tensor, tensor.shape());
  outputs.commit();
}

Tensor load_npy(const std::string& path) { return io::read_npy(path).tensor; }

Tensor noise(const Shape& shape, unsigned seed, DType dtype) {
  Tensor tensor(shape, dtype);
  std::mt19937 random(seed);
  const TensorView flat(tensor.as<std::byte>(), dtype, {shape.elements()});
  for (Index i = 0; i < shape.elements(); ++i) flat.set(i, static_cast<double>(random()) / 2147483648.0 - 1);
  return tensor;
}

}  // namespace headlight::testing
