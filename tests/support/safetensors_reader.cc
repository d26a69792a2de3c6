#include "support/safetensors_reader.h"

#include <simdjson.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

namespace headlight::testing {

std::map<std::string, Tensor> read_safetensors(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::uint64_t header_size = 0;
  if (bytes.size() < sizeof header_size) throw std::runtime_error(path.string() + " is too short");
  std::memcpy(&header_size, bytes.data(), sizeof header_size);
  if (header_size > bytes.size() - sizeof header_size)
    throw std::runtime_error(path.string() + " has a bad header");
  const char* header = bytes.data() + sizeof header_size;
  const char* data = header + header_size;

  simdjson::dom::parser parser;
  const simdjson::dom::object entries = parser.parse(header, header_size);
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, entry] : entries) {
    if (name == "__metadata__") continue;
    const std::string_view type = entry["dtype"];
    if (type != "F32" && type != "I64")
      throw std::runtime_error(path.string() + " has dtype " + std::string(type));
    std::vector<Index> dims;
    for (const std::int64_t n : entry["shape"].get_array()) dims.push_back(n);
    Tensor tensor(Shape(dims), type == "F32" ? DType::f32 : DType::i64);
    const std::uint64_t begin = entry["data_offsets"].at(0), end = entry["data_offsets"].at(1);
    const auto size = static_cast<std::uint64_t>(tensor.shape().elements()) * size_of(tensor.dtype());
    if (end - begin != size || data + end > bytes.data() + bytes.size()) {
      throw std::runtime_error(path.string() + " has a bad range");
    }
    if (size > 0) std::memcpy(tensor.as<char>(), data + begin, size);
    tensors.emplace(std::string(name), std::move(tensor));
  }
  return tensors;
}

}  // namespace headlight::testing
