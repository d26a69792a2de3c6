#include "headlight/stored_matrix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/block_formats.h"
#include "core/block_store.h"
#include "core/concat.h"
#include "core/float_mode.h"
#include "headlight/error.h"

namespace headlight {
namespace {

struct TypeRow {
  StoredType type;
  std::string_view name;
  Index columns, bytes;  // of a block
  std::size_t alignment;
  void (*floats)(const std::byte* block, float* to) = nullptr;           // of block types only
  void (*store)(std::span<const float> block, std::byte* to) = nullptr;  // null: only read from files
};
// In the order of StoredType.
constexpr TypeRow kRows[] = {
    {StoredType::f32, "f32", 1, 4, 4},
    {StoredType::f16, "f16", 1, 2, 2},
    {StoredType::bf16, "bf16", 1, 2, 2},
    {StoredType::q8_0, "q8_0", kQ8Columns, kQ8Bytes, 1, blocks::q8_0, blocks::to_q8_0},
    {StoredType::int8, "int8", 1, 1, 1},
    {StoredType::q4_0, "q4_0", 32, 18, 1, blocks::q4_0},
    {StoredType::q4_1, "q4_1", 32, 20, 1, blocks::q4_1},
    {StoredType::q5_0, "q5_0", 32, 22, 1, blocks::q5_0},
    {StoredType::q5_1, "q5_1", 32, 24, 1, blocks::q5_1},
    {StoredType::q2_k, "q2_k", 256, 84, 1, blocks::q2_k},
    {StoredType::q3_k, "q3_k", 256, 110, 1, blocks::q3_k},
    {StoredType::q4_k, "q4_k", 256, 144, 1, blocks::q4_k, blocks::to_q4_k},
    {StoredType::q5_k, "q5_k", 256, 176, 1, blocks::q5_k},
    {StoredType::q6_k, "q6_k", 256, 210, 1, blocks::q6_k, blocks::to_q6_k},
    {StoredType::iq4_nl, "iq4_nl", 32, 18, 1, blocks::iq4_nl},
    {StoredType::iq4_xs, "iq4_xs", 256, 136, 1, blocks::iq4_xs},
    {StoredType::mxfp4, "mxfp4", 32, 17, 1, blocks::mxfp4}};
constexpr Index kMostColumns = 256;

constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kRows); ++i)
    if (static_cast<std::size_t>(kRows[i].type) != i || kRows[i].columns > kMostColumns) return false;
  return true;
}
static_assert(in_order());

const TypeRow& row_of(StoredType type) { return kRows[static_cast<std::size_t>(type)]; }

template <class T>
T fetch(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// The storage that StoredMatrix::from() creates. Tensors, because they start at cache lines.
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
    case StoredType::int8: *scale = to_int8(row, {reinterpret_cast<std::int8_t*>(to), n}); break;
    default: {
      const TypeRow& as = row_of(type);
      const auto columns = static_cast<std::size_t>(as.columns);
      for (std::size_t i = 0; i < n; i += columns, to += as.bytes) as.store(row.subspan(i, columns), to);
    }
  }
}

}  // namespace

std::span<const StoredType> stored_types() noexcept {
  static constexpr auto kAll = [] {
    std::array<StoredType, std::size(kRows)> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = kRows[i].type;
    return all;
  }();
  return kAll;
}
std::string_view name_of(StoredType type) noexcept { return row_of(type).name; }
Index block_columns(StoredType type) noexcept { return row_of(type).columns; }
Index block_bytes(StoredType type) noexcept { return row_of(type).bytes; }
void read_block(StoredType type, const std::byte* block, float* to) { row_of(type).floats(block, to); }
Index row_bytes(StoredType type, Index columns) noexcept {
  return columns / row_of(type).columns * row_of(type).bytes;
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
  if (columns % block_columns(type) != 0)
    refuse(concat("columns must be a multiple of ", block_columns(type)));
  const auto wanted = static_cast<std::size_t>(row_bytes(type, elements));
  if (data.bytes.size() != wanted)
    refuse(concat("needs ", wanted, " bytes; ", data.bytes.size(), " are there"));
  if (reinterpret_cast<std::uintptr_t>(data_) % row_of(type).alignment != 0)
    refuse(concat("does not start at a multiple of ", row_of(type).alignment, " bytes"));
  if (type == StoredType::int8 && data.scales.size() != static_cast<std::size_t>(rows))
    refuse(concat("needs one scale per row; ", data.scales.size(), " are given"));
}

StoredMatrix StoredMatrix::from(ConstTensorView matrix, StoredType type) {
  const DefaultFloatMode float_mode;
  if (matrix.rank() != 2 || matrix.dtype() != DType::f32 || (matrix.dim(1) > 1 && matrix.stride(1) != 1) ||
      matrix.dim(1) % block_columns(type) != 0) {
    throw Error(ErrorKind::usage, "matrix.stored",
                concat("to be stored as ", name_of(type),
                       ", a matrix must be f32 with contiguous rows of whole blocks of ", block_columns(type),
                       "; this is ", name_of(matrix.dtype()), " ", matrix.shape().text()));
  }
  if (row_of(type).floats != nullptr && row_of(type).store == nullptr)
    throw Error(ErrorKind::usage, "matrix.stored",
                concat("matrices cannot be converted to ", name_of(type), "; choose q8_0, q6_k or q4_k"));
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
    case StoredType::int8: return static_cast<double>(scales_[row]) * fetch<std::int8_t>(from + column);
    default: {
      const TypeRow& as = row_of(type_);
      float values[kMostColumns];
      as.floats(from + column / as.columns * as.bytes, values);
      return static_cast<double>(values[column % as.columns]);
    }
  }
}

float to_int8(std::span<const float> row, std::span<std::int8_t> numbers) {
  const DefaultFloatMode float_mode;
  constexpr float kMost = 127;
  float largest = 0;
  for (const float x : row) largest = std::max(largest, std::abs(x));
  const float scale = largest / kMost;
  // The smallest floats underflow when divided by 127; such a row is stored as zeros.
  if (!(scale > 0)) {
    std::fill(numbers.begin(), numbers.end(), std::int8_t{0});
    return 0;
  }
  for (std::size_t i = 0; i < row.size(); ++i)
    numbers[i] = static_cast<std::int8_t>(std::clamp(std::nearbyint(row[i] / scale), -kMost, kMost));
  return scale;
}

}  // namespace headlight
