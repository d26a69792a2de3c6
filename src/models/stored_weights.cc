#include "models/stored_weights.h"

#include <cstdint>
#include <optional>

#include "models/int8_rows.h"

namespace headlight::models {
namespace {

// What a type of the files is to us, and how it must be aligned to be used there.
struct Usable {
  StoredType type;
  std::size_t alignment;
};
std::optional<Usable> usable(std::string_view dtype) {
  if (dtype == "F32") return Usable{StoredType::f32, 4};
  if (dtype == "F16") return Usable{StoredType::f16, 2};
  if (dtype == "BF16") return Usable{StoredType::bf16, 2};
  if (dtype == "I8") return Usable{StoredType::int8, 1};
  return std::nullopt;
}

// A mapped file and the factors of one of its matrices, which are few and not always aligned.
struct MappedWithScales {
  std::shared_ptr<const void> file;
  Tensor scales;
};

}  // namespace

void give_matrix(const WeightFiles& files, const WeightFiles::Place& place, Parameter& parameter) {
  const Index rows = parameter.stored.rows(), columns = parameter.stored.columns();
  const std::optional<Usable> as = usable(place.entry->dtype);
  if (as) {
    const std::span<const std::byte> bytes = place.file->bytes(*place.entry);
    if (as->type == StoredType::int8) {
      auto owner = std::make_shared<MappedWithScales>();
      owner->file = place.file->owner();
      owner->scales = load_scales(files, *place.entry);
      const std::span<const float> scales(owner->scales.as<float>(), static_cast<std::size_t>(rows));
      parameter.stored = StoredMatrix(as->type, rows, columns, {bytes, scales, owner});
      return;
    }
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % as->alignment == 0) {
      parameter.stored = StoredMatrix(as->type, rows, columns, {bytes, {}, place.file->owner()});
      return;
    }
  }
  const auto owner = std::make_shared<Tensor>(Tensor::uninitialized({rows, columns}));
  place.file->load(*place.entry, *owner);
  const std::span<const float> values(owner->as<float>(), static_cast<std::size_t>(rows * columns));
  parameter.stored = StoredMatrix(StoredType::f32, rows, columns, {std::as_bytes(values), {}, owner});
}

}  // namespace headlight::models
