// The text between the magic bytes and the data: a Python dictionary with three entries.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "headlight/tensor.h"

namespace headlight::io {

struct NpyHeader {
  DType dtype = DType::f32;
  bool swapped = false;  // big-endian
  bool fortran = false;  // first axis fastest
  Shape shape;
  std::uint64_t data_begin = 0;  // bytes
  std::uint64_t elements = 0;
};

// The longest header that is read. NumPy itself limits it to 10,000 characters.
inline constexpr std::uint64_t kMaxNpyHeader = 65536;

// `start` is the beginning of the file: all of it, or kMaxNpyHeader + 12 bytes; `file_size` is the size of the file.
// On return, the size of the data is known to match the file.
[[nodiscard]] NpyHeader parse_npy_header(std::span<const std::byte> start, std::uint64_t file_size,
                                         const std::string& name);

}  // namespace headlight::io
