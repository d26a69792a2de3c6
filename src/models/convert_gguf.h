// Converts the matrices of a .gguf file to another type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headlight/context.h"
#include "headlight/stored_matrix.h"

namespace headlight::models {

struct ConvertedMatrix {
  std::string name, before, after;  // types as the file names them
  double relative_error = 0;        // norm of the difference / norm
};
struct ConvertedGguf {
  std::int64_t tensors = 0;
  std::int64_t bytes_before = 0, bytes_after = 0;
  std::vector<ConvertedMatrix> matrices;  // those that were written in another type
};
struct GgufTarget {
  std::string path;
  StoredType type = StoredType::q8_0;  // f32, f16, bf16, q8_0, q6_k or q4_k
  bool replace = false;                // an existing file
};

// Matrices of at least 16 rows, and experts, become `type`; rows that its blocks do not divide become q8_0, and if they are
// not whole blocks of 32 either, f16. Vectors and all named values are copied unchanged. Throws Error: usage for a type that
// cannot be written, file and input as io::Gguf does, numeric for numbers that are not finite.
[[nodiscard]] ConvertedGguf convert_gguf(Context& ctx, const std::string& from, const GgufTarget& to);

}  // namespace headlight::models
