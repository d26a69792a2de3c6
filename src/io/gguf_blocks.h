// How GGUF stores numbers: in blocks that share a scale. One row of a table per type, one small function per
// type that can be turned into floats. The formulas are exact: same bits on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace headlight::io {

struct BlockType {
  std::string_view name;                  // "Q4_0"; the plain types are called as in .safetensors
  std::uint32_t id = 0;                   // its number in the file
  std::uint32_t elements = 0, bytes = 0;  // of one block
  void (*floats)(const std::byte* block, float* to) = nullptr;  // null: not supported here
  [[nodiscard]] bool loads() const noexcept { return floats != nullptr; }
};

// Null for numbers and names that do not exist, or no longer do.
[[nodiscard]] const BlockType* find_block_type(std::uint32_t id) noexcept;
[[nodiscard]] const BlockType* find_block_type(std::string_view name) noexcept;

// Whole blocks to floats. `bytes` is as long as they are, of any alignment; the type loads().
void dequantize(const BlockType& type, std::span<const std::byte> bytes, float* to);

}  // namespace headlight::io
