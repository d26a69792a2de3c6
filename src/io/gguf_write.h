// The header of a GGUF file, version 3: named values and a list of tensors. Their bytes follow in the same order,
// each starting at a multiple of the alignment.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/gguf.h"

namespace headlight::io {

struct GgufEntry {
  std::string name;
  const BlockType* type = nullptr;
  Shape shape;  // outermost axis first
  std::uint64_t bytes = 0;
};

// Values as returned by a Gguf, whose memory must still exist. `alignment` must be the one in the values, or 32.
[[nodiscard]] std::string gguf_header(std::span<const GgufValue> values, std::span<const GgufEntry> tensors,
                                      std::uint64_t alignment);
// Padding after this many bytes of data.
[[nodiscard]] constexpr std::uint64_t gguf_padding(std::uint64_t bytes, std::uint64_t alignment) {
  return (alignment - bytes % alignment) % alignment;
}

}  // namespace headlight::io
