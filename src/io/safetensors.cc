#include "io/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "core/concat.h"
#include "core/escape.h"
#include "core/nearest.h"
#include "headlight/error.h"
#include "io/file.h"
#include "io/source.h"

namespace headlight::io {

static_assert(std::endian::native == std::endian::little, "files are little-endian and memory-mapped");

namespace {

constexpr std::uint64_t kLengthBytes = 8;

[[noreturn]] void refuse_safetensors(const std::string& name, const char* code, const std::string& what) {
  throw Error(ErrorKind::input, concat("safetensors.", code), concat(escaped(name), ": ", what));
}

}  // namespace

Safetensors::Safetensors(std::unique_ptr<Source> source) : source_(std::move(source)) {
  const std::string& file = source_->name();
  const std::uint64_t size = source_->size();
  if (size < kLengthBytes) refuse_safetensors(file, "short", concat("is shorter than 8 bytes (", size, ")"));
  std::uint64_t length = 0;
  source_->read(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > kMaxSafetensorsHeader) {
    refuse_safetensors(
        file, length >> 32 == 0 ? "long" : "length",
        concat("a header of ", length, " bytes is too long (limit ", kMaxSafetensorsHeader, ")"));
  }
  if (length > size - kLengthBytes) {
    refuse_safetensors(file, "length",
                       concat("the header claims ", length, " bytes, the file has ", size - kLengthBytes));
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  source_->read(kLengthBytes, std::as_writable_bytes(std::span(text)));
  data_begin_ = kLengthBytes + length;
  header_ = parse_safetensors_header(text, size - data_begin_, file);
  by_name_.resize(header_.entries.size());
  std::iota(by_name_.begin(), by_name_.end(), 0U);
  std::sort(by_name_.begin(), by_name_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return header_.entries[a].name < header_.entries[b].name;
  });
}

Safetensors Safetensors::open(const std::string& path) { return open(std::make_unique<const File>(path)); }
Safetensors Safetensors::open(std::unique_ptr<const File> file) {
  return Safetensors(std::make_unique<Source>(std::move(file)));
}

Safetensors Safetensors::parse(std::vector<std::byte> bytes, const std::string& name) {
  return Safetensors(std::make_unique<Source>(std::move(bytes), name));
}

Safetensors::Safetensors(Safetensors&&) noexcept = default;
Safetensors& Safetensors::operator=(Safetensors&&) noexcept = default;
Safetensors::~Safetensors() = default;

const std::string& Safetensors::name() const noexcept { return source_->name(); }
std::span<const Safetensors::Entry> Safetensors::entries() const noexcept { return header_.entries; }
const Metadata& Safetensors::metadata() const noexcept { return header_.metadata; }

const std::string* Safetensors::metadata(std::string_view key) const noexcept {
  for (const auto& [name, value] : header_.metadata)
    if (name == key) return &value;
  return nullptr;
}

const Safetensors::Entry* Safetensors::find(std::string_view name) const noexcept {
  const auto found =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [&](std::uint32_t i, std::string_view n) { return header_.entries[i].name < n; });
  if (found == by_name_.end() || header_.entries[*found].name != name) return nullptr;
  return &header_.entries[*found];
}

const Safetensors::Entry& Safetensors::at(std::string_view name) const {
  if (const Entry* found = find(name)) return *found;
  std::vector<std::string_view> names;
  for (const Entry& entry : entries()) names.push_back(entry.name);
  const std::string_view close = nearest_name(name, names);
  refuse_safetensors(
      this->name(), "missing",
      concat("tensor \"", escaped(name, 80), "\" not found among ", names.size(),
             close.empty() ? std::string() : concat("; the closest is \"", escaped(close, 80), "\"")));
}

std::span<const std::byte> Safetensors::bytes(const Entry& entry) const {
  return source_->mapped(data_begin_ + entry.begin, entry.end - entry.begin);
}

namespace {

enum class Family { none, real, whole, truth };

struct Stored {
  Family family = Family::none;
  std::size_t bytes = 0;
  double (*real)(const std::byte*) = nullptr;
  std::int64_t (*whole)(const std::byte*) = nullptr;
};

template <class T>
T fetch(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

Stored stored(std::string_view dtype) {
  const auto real = [](std::size_t bytes, double (*read)(const std::byte*)) {
    return Stored{Family::real, bytes, read, nullptr};
  };
  const auto whole = [](std::size_t bytes, std::int64_t (*read)(const std::byte*)) {
    return Stored{Family::whole, bytes, nullptr, read};
  };
  if (dtype == "F64") return real(8, [](const std::byte* p) { return fetch<double>(p); });
  if (dtype == "F32") return real(4, [](const std::byte* p) { return static_cast<double>(fetch<float>(p)); });
  if (dtype == "F16")
    return real(2, [](const std::byte* p) { return static_cast<double>(to_float(fetch<F16>(p))); });
  if (dtype == "BF16")
    return real(2, [](const std::byte* p) { return static_cast<double>(to_float(fetch<BF16>(p))); });
  if (dtype == "I64") return whole(8, [](const std::byte* p) { return fetch<std::int64_t>(p); });
  if (dtype == "I32")
    return whole(4, [](const std::byte* p) { return std::int64_t{fetch<std::int32_t>(p)}; });
  if (dtype == "U32")
    return whole(4, [](const std::byte* p) { return std::int64_t{fetch<std::uint32_t>(p)}; });
  if (dtype == "I16")
    return whole(2, [](const std::byte* p) { return std::int64_t{fetch<std::int16_t>(p)}; });
  if (dtype == "U16")
    return whole(2, [](const std::byte* p) { return std::int64_t{fetch<std::uint16_t>(p)}; });
  if (dtype == "I8") return whole(1, [](const std::byte* p) { return std::int64_t{fetch<std::int8_t>(p)}; });
  if (dtype == "U8") return whole(1, [](const std::byte* p) { return std::int64_t{fetch<std::uint8_t>(p)}; });
  if (dtype == "BOOL") {
    return {Family::truth, 1, nullptr, [](const std::byte* p) { return std::int64_t{*p != std::byte{0}}; }};
  }
  return {};
}

Family family_of(DType dtype) {
  if (dtype == DType::boolean) return Family::truth;
  return is_float(dtype) ? Family::real : Family::whole;
}

// Elements [first, first + count) of `to`, from `count` stored ones.
bool convert(const Stored& from, const std::byte* bytes, const TensorView& to, std::size_t first,
             std::size_t count) {
  const auto put_real = [&](auto* out) {
    for (std::size_t i = 0; i < count; ++i)
      out[first + i] =
          static_cast<std::remove_reference_t<decltype(*out)>>(from.real(bytes + i * from.bytes));
  };
  switch (to.dtype()) {
    case DType::f32: put_real(to.as<float>()); break;
    case DType::f64: put_real(to.as<double>()); break;
    case DType::f16:
      for (std::size_t i = 0; i < count; ++i)
        to.as<F16>()[first + i] = to_f16(from.real(bytes + i * from.bytes));
      break;
    case DType::bf16:
      for (std::size_t i = 0; i < count; ++i)
        to.as<BF16>()[first + i] = to_bf16(from.real(bytes + i * from.bytes));
      break;
    case DType::i64:
      for (std::size_t i = 0; i < count; ++i)
        to.as<std::int64_t>()[first + i] = from.whole(bytes + i * from.bytes);
      break;
    case DType::i32:
      for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t value = from.whole(bytes + i * from.bytes);
        if (value != static_cast<std::int32_t>(value)) return false;
        to.as<std::int32_t>()[first + i] = static_cast<std::int32_t>(value);
      }
      break;
    case DType::boolean:
      for (std::size_t i = 0; i < count; ++i)
        to.as<std::uint8_t>()[first + i] = static_cast<std::uint8_t>(from.whole(bytes + i * from.bytes));
      break;
  }
  return true;
}

}  // namespace

void Safetensors::read(const Entry& entry, std::uint64_t offset, std::span<std::byte> to) const {
  source_->read(data_begin_ + entry.begin + offset, to);
}

Tensor Safetensors::load(const Entry& entry, DType as) const {
  if (entry.shape.size() > static_cast<std::size_t>(kMaxRank)) {
    refuse_safetensors(name(), "rank",
                       concat("tensor \"", escaped(entry.name, 80), "\" has ", entry.shape.size(),
                              " axes; this program works with up to ", kMaxRank));
  }
  const Shape shape = entry.shape.empty() ? Shape{1} : Shape(entry.shape);
  Tensor tensor = Tensor::uninitialized(shape, as);
  load(entry, tensor.view());
  return tensor;
}

void Safetensors::load(const Entry& entry, TensorView to) const {
  const std::string tensor = concat("tensor \"", escaped(entry.name, 80), "\"");
  const Stored from = stored(entry.dtype);
  if (from.family == Family::none || from.family != family_of(to.dtype()))
    refuse_safetensors(name(), "convert",
                       concat(tensor, " is ", entry.dtype, " and cannot be used as ", name_of(to.dtype())));
  const auto elements = static_cast<std::size_t>((entry.end - entry.begin) / from.bytes);
  if (static_cast<std::size_t>(to.shape().elements()) != elements)
    refuse_safetensors(name(), "shape",
                       concat(tensor, " has ", elements, " elements; ", to.shape().text(), " was expected"));
  const std::uint64_t begin = data_begin_ + entry.begin;
  // Read, not mapped, so that a file that shrinks meanwhile is an error and not a bus error.
  if (entry.dtype == safetensors_type(to.dtype()) && from.family != Family::truth)
    return source_->read(begin, {to.as<std::byte>(), elements * from.bytes});
  constexpr std::size_t kAtOnce = std::size_t{1} << 16;
  std::vector<std::byte> buffer(std::min(elements, kAtOnce) * from.bytes);
  for (std::size_t first = 0; first < elements; first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, elements - first);
    source_->read(begin + first * from.bytes, std::span(buffer).first(count * from.bytes));
    if (!convert(from, buffer.data(), to, first, count))
      refuse_safetensors(name(), "convert",
                         concat(tensor, " has a number that does not fit in ", name_of(to.dtype())));
  }
}

}  // namespace headlight::io
