#include "io/npy.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "core/concat.h"
#include "headlight/error.h"
#include "io/file.h"
#include "io/npy_header.h"

namespace headlight::io {
namespace {

using Fetch = std::function<void(std::uint64_t offset, std::span<std::byte> bytes)>;

void swap_bytes(std::span<std::byte> bytes, std::size_t size) {
  if (size == 1) return;
  for (std::size_t i = 0; i < bytes.size(); i += size)
    std::reverse(bytes.begin() + i, bytes.begin() + i + size);
}

// `from` has the first axis fastest, `to` the last. Walks `to` in order with one counter an axis.
void to_c_order(std::span<const std::byte> from, std::span<std::byte> to, const Shape& shape,
                std::size_t size) {
  std::array<std::size_t, kMaxRank> stride{}, index{};
  std::size_t step = size;
  for (int axis = 0; axis < shape.rank; ++axis) {
    stride[static_cast<std::size_t>(axis)] = step;
    step *= static_cast<std::size_t>(shape[axis]);
  }
  std::size_t source = 0;
  for (std::size_t at = 0; at < to.size(); at += size) {
    std::memcpy(to.data() + at, from.data() + source, size);
    for (int axis = shape.rank - 1; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      source += stride[a];
      if (++index[a] < static_cast<std::size_t>(shape[axis])) break;
      source -= stride[a] * index[a];
      index[a] = 0;
    }
  }
}

// NumPy treats any byte except 0 as True; the library's booleans are 0 and 1.
void normalise(std::span<std::byte> booleans) {
  for (std::byte& b : booleans) b = b == std::byte{0} ? std::byte{0} : std::byte{1};
}

NpyArray read_data(const NpyHeader& header, const Fetch& fetch) {
  NpyArray array;
  array.shape = header.shape;
  array.tensor = Tensor(header.shape.rank == 0 ? Shape{1} : header.shape, header.dtype);
  const std::size_t size = size_of(header.dtype);
  const std::span<std::byte> data(array.tensor.as<std::byte>(),
                                  static_cast<std::size_t>(header.elements) * size);
  if (header.fortran && header.shape.rank > 1) {
    std::vector<std::byte> columns(data.size());
    fetch(header.data_begin, columns);
    to_c_order(columns, data, header.shape, size);
  } else {
    fetch(header.data_begin, data);
  }
  if (header.swapped) swap_bytes(data, size);
  if (header.dtype == DType::boolean) normalise(data);
  return array;
}

std::string descr_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return "<f2";
    case DType::f32: return "<f4";
    case DType::f64: return "<f8";
    case DType::i32: return "<i4";
    case DType::i64: return "<i8";
    case DType::boolean: return "|b1";
    case DType::bf16: break;
  }
  throw Error(ErrorKind::input, "npy.dtype",
              concat("npy: ", name_of(dtype), " has no .npy type; convert it to f32"));
}

}  // namespace

namespace {
NpyHeader header_of(const File& file) {
  std::vector<std::byte> start(static_cast<std::size_t>(std::min(file.size(), kMaxNpyHeader + 12)));
  file.read(0, start);
  return parse_npy_header(start, file.size(), file.path());
}
}  // namespace

NpyHeader read_npy_header(const std::string& path) { return header_of(File(path)); }

NpyArray read_npy(const std::string& path) {
  const File file(path);
  const NpyHeader header = header_of(file);
  return read_data(header,
                   [&](std::uint64_t offset, std::span<std::byte> bytes) { file.read(offset, bytes); });
}

NpyArray parse_npy(std::span<const std::byte> bytes, const std::string& name) {
  const NpyHeader header = parse_npy_header(
      bytes.first(std::min<std::size_t>(bytes.size(), kMaxNpyHeader + 12)), bytes.size(), name);
  return read_data(header, [&](std::uint64_t offset, std::span<std::byte> to) {
    if (!to.empty()) std::memcpy(to.data(), bytes.data() + offset, to.size());
  });
}

std::string npy_header(DType dtype, const Shape& shape) {
  std::string dictionary = concat("{'descr': '", descr_of(dtype), "', 'fortran_order': False, 'shape': (");
  for (int axis = 0; axis < shape.rank; ++axis) dictionary += concat(axis > 0 ? " " : "", shape[axis], ",");
  if (shape.rank > 1) dictionary.pop_back();
  dictionary += "), }";
  // The data starts at a multiple of 64 bytes, so that a mapped file is aligned.
  constexpr std::size_t before = 10;
  const std::size_t total = (before + dictionary.size() + 1 + 63) / 64 * 64;
  dictionary.append(total - before - dictionary.size() - 1, ' ');
  dictionary += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(dictionary.size() & 0xFFU);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

void write_npy(Outputs& outputs, const std::string& path, const Tensor& tensor, const Shape& shape) {
  const std::string header = npy_header(tensor.dtype(), shape);
  if (shape.elements() != tensor.shape().elements()) {
    throw Error(ErrorKind::input, "npy.shape",
                concat("npy: ", tensor.shape().text(), " cannot be written as ", shape.text()));
  }
  outputs.write(path, std::as_bytes(std::span(header)));
  const auto bytes = static_cast<std::size_t>(shape.elements()) * size_of(tensor.dtype());
  outputs.write(path, {tensor.as<std::byte>(), bytes});
}

}  // namespace headlight::io
