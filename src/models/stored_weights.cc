#include "models/stored_weights.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "models/int8_rows.h"

namespace headlight::models {
namespace {

// The storage type for a type in the files, and the alignment required to use it in place.
struct Usable {
  StoredType type;
  std::size_t alignment;
};
bool same_name(std::string_view ours, std::string_view of_file) {
  return std::equal(ours.begin(), ours.end(), of_file.begin(), of_file.end(), [](char a, char b) {
    return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
  });
}
std::optional<Usable> usable(std::string_view dtype) {
  if (dtype == "F32") return Usable{StoredType::f32, 4};
  if (dtype == "F16") return Usable{StoredType::f16, 2};
  if (dtype == "BF16") return Usable{StoredType::bf16, 2};
  if (dtype == "I8") return Usable{StoredType::int8, 1};
  // Block types have the names of the format in capitals, and need no alignment.
  for (const StoredType type : stored_types())
    if (block_columns(type) > 1 && same_name(name_of(type), dtype)) return Usable{type, 1};
  return std::nullopt;
}

// A mapped file and the scales of one of its matrices, which are few and not always aligned.
struct MappedWithScales {
  std::shared_ptr<const void> file;
  Tensor scales;
};

}  // namespace

bool is_usable(std::string_view type) { return usable(type).has_value(); }

void give_matrix(const WeightSource& weights, const StoredTensor& tensor, Parameter& parameter) {
  const Index rows = parameter.stored.rows(), columns = parameter.stored.columns();
  if (const std::optional<Usable> as = usable(tensor.type)) {
    const std::span<const std::byte> bytes = weights.bytes(tensor.name);
    if (as->type == StoredType::int8) {
      auto owner = std::make_shared<MappedWithScales>();
      owner->file = weights.owner(tensor.name);
      owner->scales = load_scales(weights, tensor);
      const std::span<const float> scales(owner->scales.as<float>(), static_cast<std::size_t>(rows));
      parameter.stored = StoredMatrix(as->type, rows, columns, {bytes, scales, owner});
      return;
    }
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % as->alignment == 0) {
      parameter.stored = StoredMatrix(as->type, rows, columns, {bytes, {}, weights.owner(tensor.name)});
      return;
    }
  }
  const auto owner = std::make_shared<Tensor>(Tensor::uninitialized({rows, columns}));
  weights.load(tensor.name, *owner);
  const std::span<const float> values(owner->as<float>(), static_cast<std::size_t>(rows * columns));
  parameter.stored = StoredMatrix(StoredType::f32, rows, columns, {std::as_bytes(values), {}, owner});
}

}  // namespace headlight::models
