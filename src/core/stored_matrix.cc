#include "headlight/stored_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/concat.h"
#include "core/float_mode.h"
#include "headlight/error.h"

namespace headlight {
namespace {

std::size_t alignment_of(StoredType type) {
  switch (type) {
    case StoredType::f32: return 4;
    case StoredType::f16:
    case StoredType::bf16: return 2;
    default: return 1;
  }
}

template <class T>
T fetch(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// What StoredMatrix::from() makes. Tensors, because they start at whole cache lines.
struct Owned {
  Tensor bytes, scales;
};

void store_row(std::span<const float> row, StoredType type, std::byte* to, float* scale) {
  const std::size_t n = row.size();
  switch (type) {
    case StoredType::f32: std::memcpy(to, row.data(), n * sizeof(float)); break;
    case StoredType::f16:
      for (std::size_t i = 0; i < n; ++i) {
        const F16 x = to_f16(static_cast<double>(row[i]));
        std::memcpy(to + 2 * i, &x, 2);
      }
      break;
    case StoredType::bf16:
      for (std::size_t i = 0; i < n; ++i) {
        const BF16 x = to_bf16(static_cast<double>(row[i]));
        std::memcpy(to + 2 * i, &x, 2);
      }
      break;
    case StoredType::q8_0:
      for (std::size_t i = 0; i < n; i += kQ8Columns, to += kQ8Bytes) {
        std::int8_t numbers[kQ8Columns];
        const F16 factor = to_f16(static_cast<double>(to_int8(row.subspan(i, kQ8Columns), numbers)));
        std::memcpy(to, &factor, sizeof factor);
        std::memcpy(to + sizeof factor, numbers, sizeof numbers);
      }
      break;
    case StoredType::int8: *scale = to_int8(row, {reinterpret_cast<std::int8_t*>(to), n}); break;
  }
}

}  // namespace

std::string_view name_of(StoredType type) noexcept {
  switch (type) {
    case StoredType::f32: return "f32";
    case StoredType::f16: return "f16";
    case StoredType::bf16: return "bf16";
    case StoredType::q8_0: return "q8_0";
    case StoredType::int8: return "int8";
  }
  return "unknown";
}

Index row_bytes(StoredType type, Index columns) noexcept {
  switch (type) {
    case StoredType::f32: return 4 * columns;
    case StoredType::f16:
    case StoredType::bf16: return 2 * columns;
    case StoredType::q8_0: return columns / kQ8Columns * kQ8Bytes;
    case StoredType::int8: return columns;
  }
  return 0;
}

StoredMatrix::StoredMatrix(StoredType type, Index rows, Index columns, Data data)
    : type_(type),
      rows_(rows),
      columns_(columns),
      data_(data.bytes.data()),
      scales_(type == StoredType::int8 ? data.scales.data() : nullptr),
      owner_(std::move(data.owner)) {
  const auto refuse = [&](std::string_view what) {
    throw Error(ErrorKind::input, "matrix.stored",
                concat("a matrix [", rows, ", ", columns, "] stored as ", name_of(type), ": ", what));
  };
  if (rows < 1 || columns < 1) refuse("need 1 row and 1 column or more");
  const Index elements = Shape{rows, columns}.elements();
  if (type == StoredType::q8_0 && columns % kQ8Columns != 0)
    refuse(concat("columns must be a multiple of ", kQ8Columns));
  const auto wanted = static_cast<std::size_t>(row_bytes(type, elements));
  if (data.bytes.size() != wanted)
    refuse(concat("needs ", wanted, " bytes; ", data.bytes.size(), " are there"));
  if (reinterpret_cast<std::uintptr_t>(data_) % alignment_of(type) != 0)
    refuse(concat("does not start at a multiple of ", alignment_of(type), " bytes"));
  if (type == StoredType::int8 && data.scales.size() != static_cast<std::size_t>(rows))
    refuse(concat("needs one factor per row; ", data.scales.size(), " are there"));
}

StoredMatrix StoredMatrix::from(ConstTensorView matrix, StoredType type) {
  const DefaultFloatMode float_mode;
  if (matrix.rank() != 2 || matrix.dtype() != DType::f32 || (matrix.dim(1) > 1 && matrix.stride(1) != 1) ||
      (type == StoredType::q8_0 && matrix.dim(1) % kQ8Columns != 0)) {
    throw Error(ErrorKind::usage, "matrix.stored",
                concat("to be stored as ", name_of(type),
                       ", a matrix must be f32 with contiguous rows (q8_0: of whole "
                       "blocks of 32); this is ",
                       name_of(matrix.dtype()), " ", matrix.shape().text()));
  }
  const Index rows = matrix.dim(0), columns = matrix.dim(1), bytes = row_bytes(type, columns);
  const auto owned = std::make_shared<Owned>();
  owned->bytes = Tensor::uninitialized({(rows * bytes + 3) / 4});
  owned->scales = Tensor::uninitialized({type == StoredType::int8 ? rows : 0});
  for (Index r = 0; r < rows; ++r)
    store_row({matrix.as<float>() + r * matrix.stride(0), static_cast<std::size_t>(columns)}, type,
              owned->bytes.as<std::byte>() + r * bytes, owned->scales.as<float>() + r);
  const std::span<const std::byte> stored(owned->bytes.as<std::byte>(),
                                          static_cast<std::size_t>(rows * bytes));
  const std::span<const float> scales(owned->scales.as<float>(),
                                      static_cast<std::size_t>(owned->scales.dim(0)));
  return {type, rows, columns, {stored, scales, owned}};
}

std::size_t StoredMatrix::bytes() const noexcept {
  const Index scales = type_ == StoredType::int8 ? 4 * rows_ : 0;
  return static_cast<std::size_t>(rows_ * row_bytes(type_, columns_) + scales);
}

double StoredMatrix::at(Index row, Index column) const {
  const DefaultFloatMode float_mode;
  const std::byte* from = data_ + row * row_bytes(type_, columns_);
  switch (type_) {
    case StoredType::f32: return static_cast<double>(fetch<float>(from + 4 * column));
    case StoredType::f16: return static_cast<double>(to_float(fetch<F16>(from + 2 * column)));
    case StoredType::bf16: return static_cast<double>(to_float(fetch<BF16>(from + 2 * column)));
    case StoredType::q8_0: {
      from += column / kQ8Columns * kQ8Bytes;
      return static_cast<double>(to_float(fetch<F16>(from))) *
             fetch<std::int8_t>(from + 2 + column % kQ8Columns);
    }
    case StoredType::int8: return static_cast<double>(scales_[row]) * fetch<std::int8_t>(from + column);
  }
  return 0;
}

float to_int8(std::span<const float> row, std::span<std::int8_t> numbers) {
  const DefaultFloatMode float_mode;
  constexpr float kMost = 127;
  float largest = 0;
  for (const float x : row) largest = std::max(largest, std::abs(x));
  const float scale = largest / kMost;
  // The smallest floats have no quotient by 127: such a row is zero for all that 8 bits can say.
  if (!(scale > 0)) {
    std::fill(numbers.begin(), numbers.end(), std::int8_t{0});
    return 0;
  }
  for (std::size_t i = 0; i < row.size(); ++i)
    numbers[i] = static_cast<std::int8_t>(std::clamp(std::nearbyint(row[i] / scale), -kMost, kMost));
  return scale;
}

}  // namespace headlight
