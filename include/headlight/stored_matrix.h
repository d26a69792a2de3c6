// A matrix in the precision of its file. Inference reads it in place: in the mapped file, or in
// memory that it owns. Rows are contiguous; alignment is that of the elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "headlight/tensor.h"

#pragma GCC visibility push(default)

namespace headlight {

// q8_0: blocks of 32 columns, each an f16 scale and 32 signed bytes.
// int8: signed bytes, with one f32 scale per row.
// The rest: the block types of GGUF files (src/core/block_formats.h has the formulas). A row is whole blocks.
enum class StoredType : std::uint8_t {
  f32,
  f16,
  bf16,
  q8_0,
  int8,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  iq4_nl,
  iq4_xs,
  mxfp4
};
inline constexpr Index kQ8Columns = 32, kQ8Bytes = 34;  // of q8_0

[[nodiscard]] std::span<const StoredType> stored_types() noexcept;  // all of them
[[nodiscard]] std::string_view name_of(StoredType type) noexcept;   // "q8_0"
// Columns and bytes of a block: 256 and 144 of q4_k, 1 and 4 of f32.
[[nodiscard]] Index block_columns(StoredType type) noexcept;
[[nodiscard]] Index block_bytes(StoredType type) noexcept;
// One block of a block type to floats, exactly.
void read_block(StoredType type, const std::byte* block, float* to);
// Bytes of one row, without the scale of an int8 row.
[[nodiscard]] Index row_bytes(StoredType type, Index columns) noexcept;

class StoredMatrix {
 public:
  StoredMatrix() = default;
  // A matrix without data yet: it has only a shape.
  StoredMatrix(Index rows, Index columns) : rows_(rows), columns_(columns) {}

  struct Data {
    std::span<const std::byte> bytes;
    std::span<const float> scales = {};           // of int8: one per row
    std::shared_ptr<const void> owner = nullptr;  // keeps both alive
  };
  // Throws Error{input} if the sizes do not match or the data is not aligned to its elements.
  StoredMatrix(StoredType type, Index rows, Index columns, Data data);
  // An f32 matrix rounded to `type`, in its own memory. Supports q8_0, q6_k and q4_k of the block types; Error{usage} for
  // the others.
  [[nodiscard]] static StoredMatrix from(ConstTensorView matrix, StoredType type);

  [[nodiscard]] bool empty() const noexcept { return rows_ == 0; }
  [[nodiscard]] bool given() const noexcept { return data_ != nullptr; }
  [[nodiscard]] StoredType type() const noexcept { return type_; }
  [[nodiscard]] Index rows() const noexcept { return rows_; }
  [[nodiscard]] Index columns() const noexcept { return columns_; }
  [[nodiscard]] Shape shape() const { return empty() ? Shape{} : Shape{rows_, columns_}; }
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] const float* scales() const noexcept { return scales_; }
  [[nodiscard]] std::size_t bytes() const noexcept;  // including scales
  [[nodiscard]] double at(Index row, Index column) const;

 private:
  StoredType type_ = StoredType::f32;
  Index rows_ = 0, columns_ = 0;
  const std::byte* data_ = nullptr;
  const float* scales_ = nullptr;
  std::shared_ptr<const void> owner_;
};

// Quantises a row of finite floats and returns its scale: the largest magnitude becomes 127, every other element is
// rounded to the nearest integer. The scale of a row of zeros is 0.
[[nodiscard]] float to_int8(std::span<const float> row, std::span<std::int8_t> numbers);

}  // namespace headlight

#pragma GCC visibility pop
