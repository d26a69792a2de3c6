// Number formats of GGUF: blocks that share a scale. A table has one row per type, and one small function per
// type that can be converted to floats. The formulas are exact: the same bits on every machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace headlight::io {

struct BlockType {
  std::string_view name;                  // "Q4_0"; plain types have the names of .safetensors
  std::uint32_t id = 0;                   // its number in the file
  std::uint32_t elements = 0, bytes = 0;  // of one block
  void (*floats)(const std::byte* block, float* to) = nullptr;  // null: not supported here
  std::array<int, 2> scales = {-1, -1};  // offsets of f16 scales in a block; other scales are not listed
  [[nodiscard]] bool loads() const noexcept { return floats != nullptr; }
};

// Null for unknown or removed numbers and names.
[[nodiscard]] const BlockType* find_block_type(std::uint32_t id) noexcept;
[[nodiscard]] const BlockType* find_block_type(std::string_view name) noexcept;

[[nodiscard]] std::string names_of_loading_types();  // "F32, F16, …": those that can be converted

// Whether one of these whole blocks has a scale that is infinite or NaN.
[[nodiscard]] bool has_bad_scale(const BlockType& type, std::span<const std::byte> bytes);

// Converts whole blocks to floats. `bytes` has their size and any alignment; the type must have loads().
void dequantize(const BlockType& type, std::span<const std::byte> bytes, float* to);

}  // namespace headlight::io
