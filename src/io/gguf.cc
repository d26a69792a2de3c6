#include "io/gguf.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/file.h"
#include "io/gguf_parser.h"
#include "io/source.h"

namespace headlight::io {
namespace {

template <class T>
T fetch(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Calls `use` with a number of the type stored in the file; false for other types.
template <class Use>
bool with_number(GgufType type, const std::byte* at, const Use& use) {
  switch (type) {
    case GgufType::u8: use(fetch<std::uint8_t>(at)); return true;
    case GgufType::i8: use(fetch<std::int8_t>(at)); return true;
    case GgufType::u16: use(fetch<std::uint16_t>(at)); return true;
    case GgufType::i16: use(fetch<std::int16_t>(at)); return true;
    case GgufType::u32: use(fetch<std::uint32_t>(at)); return true;
    case GgufType::i32: use(fetch<std::int32_t>(at)); return true;
    case GgufType::u64: use(fetch<std::uint64_t>(at)); return true;
    case GgufType::i64: use(fetch<std::int64_t>(at)); return true;
    case GgufType::f32: use(fetch<float>(at)); return true;
    case GgufType::f64: use(fetch<double>(at)); return true;
    case GgufType::boolean:
    case GgufType::text:
    case GgufType::list: break;
  }
  return false;
}

// Empty for values that are not integers in range.
std::optional<std::int64_t> integer_at(GgufType type, const std::byte* at) {
  std::optional<std::int64_t> result;
  (void)with_number(type, at, [&](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>)
      if (std::in_range<std::int64_t>(x)) result = static_cast<std::int64_t>(x);
  });
  return result;
}
std::optional<double> real_at(GgufType type, const std::byte* at) {
  std::optional<double> result;
  (void)with_number(type, at, [&](auto x) { result = static_cast<double>(x); });
  return result;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class List, class Name>
const auto* find_in(const List& list, const std::vector<std::uint32_t>& order, std::string_view wanted,
                    const Name& name) {
  const auto found = std::lower_bound(order.begin(), order.end(), wanted,
                                      [&](std::uint32_t i, std::string_view n) { return name(list[i]) < n; });
  return found == order.end() || name(list[*found]) != wanted ? nullptr : &list[*found];
}

}  // namespace

std::string_view name_of(GgufType type) noexcept {
  constexpr std::string_view kNames[] = {"u8",   "i8",   "u16",  "i16", "u32", "i32", "f32",
                                         "bool", "text", "list", "u64", "i64", "f64"};
  return kNames[static_cast<std::uint32_t>(type)];
}

Gguf::Gguf(std::unique_ptr<Source> source) : source_(std::move(source)) { GgufParser(*this).run(); }
Gguf::Gguf(Gguf&&) noexcept = default;
Gguf& Gguf::operator=(Gguf&&) noexcept = default;
Gguf::~Gguf() = default;

Gguf Gguf::open(const std::string& path) {
  Gguf file = open(std::make_unique<const File>(path));
  file.join_parts();
  return file;
}
Gguf Gguf::open(std::unique_ptr<const File> file) { return Gguf(std::make_unique<Source>(std::move(file))); }
Gguf Gguf::parse(std::vector<std::byte> bytes, const std::string& name) {
  return Gguf(std::make_unique<Source>(std::move(bytes), name));
}

const std::string& Gguf::name() const noexcept { return source_->name(); }
std::uint64_t Gguf::file_bytes() const noexcept { return source_->size(); }

const GgufValue* Gguf::find_value(std::string_view key) const noexcept {
  return find_in(values_, values_by_key_, key, [](const GgufValue& v) { return v.key; });
}
const GgufTensor* Gguf::find_tensor(std::string_view name) const noexcept {
  return find_in(tensors_, tensors_by_name_, name, [](const GgufTensor& t) { return t.name; });
}

void Gguf::refuse_kind(const GgufValue& value, std::string_view wanted) const {
  const std::string found = value.type == GgufType::list
                                ? concat("a list of ", value.count, " ", name_of(value.item))
                                : std::string(name_of(value.type));
  throw Error(
      ErrorKind::input, "gguf.kind",
      concat(escaped(name()), ": value \"", escaped(value.key, 80), "\" is ", found, "; need ", wanted));
}

std::optional<std::string_view> Gguf::text(std::string_view key) const {
  const GgufValue* value = find_value(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != GgufType::text) refuse_kind(*value, "a text");
  return text_of(value->bytes);
}

std::optional<std::int64_t> Gguf::integer(std::string_view key) const {
  const GgufValue* value = find_value(key);
  if (value == nullptr) return std::nullopt;
  const auto found = integer_at(value->type, value->bytes.data());
  if (!found) refuse_kind(*value, "an integer below 2^63");
  return found;
}

std::optional<double> Gguf::real(std::string_view key) const {
  const GgufValue* value = find_value(key);
  if (value == nullptr) return std::nullopt;
  const auto found = real_at(value->type, value->bytes.data());
  if (!found) refuse_kind(*value, "a number");
  return found;
}

std::optional<bool> Gguf::boolean(std::string_view key) const {
  const GgufValue* value = find_value(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != GgufType::boolean) refuse_kind(*value, "a boolean");
  return value->bytes[0] != std::byte{0};
}

std::optional<std::vector<std::string_view>> Gguf::texts(std::string_view key) const {
  const GgufValue* value = find_value(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != GgufType::list || value->item != GgufType::text)
    refuse_kind(*value, "an array of strings");
  std::vector<std::string_view> list;
  list.reserve(static_cast<std::size_t>(value->count));
  for (std::span<const std::byte> rest = value->bytes; !rest.empty();) {
    const auto length = static_cast<std::size_t>(fetch<std::uint64_t>(rest.data()));
    list.push_back(text_of(rest.subspan(sizeof(std::uint64_t), length)));
    rest = rest.subspan(sizeof(std::uint64_t) + length);
  }
  return list;
}

std::optional<std::vector<std::int64_t>> Gguf::integers(std::string_view key) const {
  const GgufValue* value = find_value(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != GgufType::list || value->item == GgufType::text)
    refuse_kind(*value, "an array of integers");
  std::vector<std::int64_t> list;
  list.reserve(static_cast<std::size_t>(value->count));
  const std::size_t each = value->count == 0 ? 0 : value->bytes.size() / value->count;
  for (std::size_t i = 0; i < value->count; ++i) {
    const auto one = integer_at(value->item, value->bytes.data() + i * each);
    if (!one) refuse_kind(*value, "an array of integers below 2^63");
    list.push_back(*one);
  }
  return list;
}

std::optional<std::vector<float>> Gguf::reals(std::string_view key) const {
  const GgufValue* value = find_value(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != GgufType::list || (value->item != GgufType::f32 && value->item != GgufType::f64))
    refuse_kind(*value, "a list of f32");
  std::vector<float> list;
  list.reserve(static_cast<std::size_t>(value->count));
  const std::size_t each = value->item == GgufType::f32 ? sizeof(float) : sizeof(double);
  for (std::size_t i = 0; i < value->count; ++i)
    list.push_back(static_cast<float>(*real_at(value->item, value->bytes.data() + i * each)));
  return list;
}

std::span<const std::byte> Gguf::bytes(const GgufTensor& tensor) const {
  const Gguf& file = holder(tensor);
  return file.source_->mapped(file.data_begin_ + tensor.begin, tensor.bytes);
}

std::shared_ptr<const void> Gguf::owner(const GgufTensor& tensor) const noexcept {
  return holder(tensor).source_;
}

void Gguf::read(const GgufTensor& tensor, std::uint64_t offset, std::span<std::byte> to) const {
  const Gguf& file = holder(tensor);
  file.source_->read(file.data_begin_ + tensor.begin + offset, to);
}

void Gguf::load(const GgufTensor& tensor, std::uint64_t first, std::span<float> to) const {
  const Gguf& file = holder(tensor);
  const BlockType& type = *tensor.type;
  if (!type.loads()) {
    throw Error(ErrorKind::input, "gguf.unsupported",
                concat(escaped(file.name()), ": tensor \"", escaped(tensor.name, 80), "\" is ", type.name,
                       ", which is not supported\nSupported are ", names_of_loading_types(), "."));
  }
  std::uint64_t from = file.data_begin_ + tensor.begin + first / type.elements * type.bytes;
  if (type.name == "F32") return file.source_->read(from, std::as_writable_bytes(to));
  constexpr std::size_t kAtOnce = std::size_t{1} << 18;  // bytes
  const std::size_t at_once = kAtOnce / type.bytes;      // blocks
  std::vector<std::byte> buffer(std::min(at_once, to.size() / type.elements) * type.bytes);
  while (!to.empty()) {
    const std::size_t blocks = std::min(at_once, to.size() / type.elements);
    const auto part = std::span(buffer).first(blocks * type.bytes);
    file.source_->read(from, part);
    dequantize(type, part, to.data());
    to = to.subspan(blocks * type.elements);
    from += part.size();
  }
}

Tensor Gguf::load(const GgufTensor& tensor) const {
  Tensor result = Tensor::uninitialized(tensor.shape.rank == 0 ? Shape{1} : tensor.shape);
  load(tensor, 0, {result.as<float>(), static_cast<std::size_t>(tensor.elements)});
  return result;
}

}  // namespace headlight::io
