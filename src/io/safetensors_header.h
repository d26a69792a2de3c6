// The JSON text at the start of a .safetensors file: the position of each tensor. A hand-written parser with one
// pass: memory and time are proportional to the header, whatever it contains.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/tensor.h"

namespace headlight::io {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;                 // as in the file: "F32", "BF16", …
  std::vector<Index> shape;          // a scalar has none
  std::uint64_t begin = 0, end = 0;  // bytes, counted from the end of the header
};

using Metadata = std::vector<std::pair<std::string, std::string>>;

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of the file
  Metadata metadata;
};

inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;  // bytes
inline constexpr std::size_t kMaxSafetensorsRank = 8;

// Bits of one element; 0 for a type that does not exist.
[[nodiscard]] int bits_of(std::string_view dtype) noexcept;
[[nodiscard]] std::string_view safetensors_type(DType dtype) noexcept;  // "F32"

// `text` is the header, which starts with '{' and may end in white space; `data_bytes` is the number of bytes after it.
// Checks that the tensors fill the data exactly, without overlaps or gaps, and that names are unique.
// Throws Error{input} that names the file and the position.
[[nodiscard]] SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_bytes,
                                                         const std::string& name);

}  // namespace headlight::io
