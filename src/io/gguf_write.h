// The header of a GGUF file, version 3: named values and what tensors there are. Their bytes follow it in the same order,
// each from a multiple of the alignment on.
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

// Values as a Gguf has them; what they refer to must still be there. `alignment` must be the one that the values state, or 32.
[[nodiscard]] std::string gguf_header(std::span<const GgufValue> values, std::span<const GgufEntry> tensors,
                                      std::uint64_t alignment);
// Padding after that many bytes of data.
[[nodiscard]] constexpr std::uint64_t gguf_padding(std::uint64_t bytes, std::uint64_t alignment) {
  return (alignment - bytes % alignment) % alignment;
}

}  // namespace headlight::io
