// Arrays in NumPy's .npy format, versions 1.0 to 3.0: f2 f4 f8 i4 i8 b1, either byte order, C or
// Fortran order, up to four axes. Files are untrusted: all sizes in the header are
// compared with the size of the file before memory is allocated. Nothing is executed (`object`
// arrays are Python code and are refused).
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "headlight/tensor.h"
#include "io/npy_header.h"
#include "io/outputs.h"

namespace headlight::io {

struct NpyArray {
  Tensor tensor;  // C order, byte order of this machine
  Shape shape;    // as in the file. A scalar has rank 0; its tensor is [1], because tensors have axes
};

// Both throw Error: file for file system errors, input "FILE: WHAT (WHERE)" for invalid files.
[[nodiscard]] NpyArray read_npy(const std::string& path);
[[nodiscard]] NpyArray parse_npy(std::span<const std::byte> bytes, const std::string& name);

// The contents of the header, without reading the data.
[[nodiscard]] NpyHeader read_npy_header(const std::string& path);

// The bytes before the data, version 1.0, padded as NumPy does. bf16 has no .npy form: Error{input}.
[[nodiscard]] std::string npy_header(DType dtype, const Shape& shape);

// Writes a tensor to a reserved output, with any shape of as many elements.
void write_npy(Outputs& outputs, const std::string& path, const Tensor& tensor, const Shape& shape);

}  // namespace headlight::io
