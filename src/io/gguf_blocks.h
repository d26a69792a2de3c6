// How GGUF stores numbers: in blocks that share a scale. One row of a table per type, one small function per
// type that can be turned into floats. The formulas are exact: same bits on every machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace headlight::io {

struct BlockType {
  std::string_view name;                  // "Q4_0"; the plain types are called as in .safetensors
  std::uint32_t id = 0;                   // its number in the file
  std::uint32_t elements = 0, bytes = 0;  // of one block
  void (*floats)(const std::byte* block, float* to) = nullptr;  // null: not supported here
  std::array<int, 2> scales = {-1, -1};  // offsets of f16 scales in a block; other scales are not listed
  [[nodiscard]] bool loads() const noexcept { return floats != nullptr; }
};

// Null for numbers and names that do not exist, or no longer do.
[[nodiscard]] const BlockType* find_block_type(std::uint32_t id) noexcept;
[[nodiscard]] const BlockType* find_block_type(std::string_view name) noexcept;

[[nodiscard]] std::string names_of_loading_types();  // "F32, F16, …": those that have floats

// Has one of these whole blocks a scale that is infinite or no number?
[[nodiscard]] bool has_bad_scale(const BlockType& type, std::span<const std::byte> bytes);

// Whole blocks to floats. `bytes` is as long as they are, of any alignment; the type loads().
void dequantize(const BlockType& type, std::span<const std::byte> bytes, float* to);

}  // namespace headlight::io
