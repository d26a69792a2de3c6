// GGUF files for tests, byte by byte: well-formed ones from the upper half, anything at all from the lower.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/tensor.h"
#include "io/gguf.h"

namespace headlight::testing {

// Bytes of a number, of a text with its length before it.
template <class T>
std::string raw(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
inline std::string raw_text(std::string_view text) {
  return raw(static_cast<std::uint64_t>(text.size())) + std::string(text);
}

template <class T>
constexpr io::GgufType gguf_type() {
  using io::GgufType;
  if constexpr (std::is_same_v<T, bool>) return GgufType::boolean;
  else if constexpr (std::is_same_v<T, std::uint8_t>) return GgufType::u8;
  else if constexpr (std::is_same_v<T, std::int8_t>) return GgufType::i8;
  else if constexpr (std::is_same_v<T, std::uint16_t>) return GgufType::u16;
  else if constexpr (std::is_same_v<T, std::int32_t>) return GgufType::i32;
  else if constexpr (std::is_same_v<T, std::uint32_t>) return GgufType::u32;
  else if constexpr (std::is_same_v<T, std::int64_t>) return GgufType::i64;
  else if constexpr (std::is_same_v<T, std::uint64_t>) return GgufType::u64;
  else if constexpr (std::is_same_v<T, float>) return GgufType::f32;
  else return GgufType::f64;
}

class GgufWriter {
 public:
  template <class T>
  GgufWriter& number(std::string_view key, T value) {
    return value_bytes(key, static_cast<std::uint32_t>(gguf_type<T>()), raw(value));
  }
  GgufWriter& text(std::string_view key, std::string_view value) {
    return value_bytes(key, static_cast<std::uint32_t>(io::GgufType::text), raw_text(value));
  }
  template <class T>
  GgufWriter& list(std::string_view key, const std::vector<T>& items) {
    std::string bytes = raw(static_cast<std::uint32_t>(gguf_type<T>())) + raw<std::uint64_t>(items.size());
    for (const T item : items) bytes += raw(item);
    return value_bytes(key, static_cast<std::uint32_t>(io::GgufType::list), bytes);
  }
  GgufWriter& texts(std::string_view key, const std::vector<std::string>& items) {
    std::string bytes =
        raw(static_cast<std::uint32_t>(io::GgufType::text)) + raw<std::uint64_t>(items.size());
    for (const std::string& item : items) bytes += raw_text(item);
    return value_bytes(key, static_cast<std::uint32_t>(io::GgufType::list), bytes);
  }
  // `dims` from the innermost axis on, as the file has them; the data follows at the next multiple of 32.
  GgufWriter& tensor(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                     std::string_view bytes) {
    tensor_bytes(name, dims, type, data.size());
    data += bytes;
    data.resize((data.size() + 31) / 32 * 32, '\0');
    return *this;
  }
  GgufWriter& tensor(std::string_view name, const Tensor& tensor) {  // f32
    std::vector<std::uint64_t> dims;
    for (int axis = tensor.rank(); axis-- > 0;) dims.push_back(static_cast<std::uint64_t>(tensor.dim(axis)));
    return this->tensor(
        name, dims, 0,
        {tensor.as<char>(), static_cast<std::size_t>(tensor.shape().elements()) * sizeof(float)});
  }

  // Of another file, as it has them.
  GgufWriter& value(const io::GgufValue& from) {
    const std::string_view bytes(reinterpret_cast<const char*>(from.bytes.data()), from.bytes.size());
    const auto type = static_cast<std::uint32_t>(from.type);
    if (from.type == io::GgufType::text) return value_bytes(from.key, type, raw_text(bytes));
    if (from.type != io::GgufType::list) return value_bytes(from.key, type, bytes);
    return value_bytes(from.key, type,
                       raw(static_cast<std::uint32_t>(from.item)) + raw(from.count) + std::string(bytes));
  }
  GgufWriter& tensor(const io::Gguf& file, const io::GgufTensor& from) {
    std::vector<std::uint64_t> dims;
    for (int axis = from.shape.rank; axis-- > 0;)
      dims.push_back(static_cast<std::uint64_t>(from.shape[axis]));
    const std::span<const std::byte> bytes = file.bytes(from);
    return tensor(from.name, dims, from.type->id,
                  {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  // What a value or a tensor's entry is made of, right or wrong.
  GgufWriter& value_bytes(std::string_view key, std::uint32_t type, std::string_view bytes) {
    values += raw_text(key) + raw(type) + std::string(bytes);
    ++value_count;
    return *this;
  }
  GgufWriter& tensor_bytes(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                           std::uint64_t offset) {
    tensors += raw_text(name) + raw(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t n : dims) tensors += raw(n);
    tensors += raw(type) + raw(offset);
    ++tensor_count;
    return *this;
  }

  [[nodiscard]] std::string text() const {
    std::string file = magic + raw(version) + raw(tensor_count) + raw(value_count) + values + tensors;
    if (!data.empty()) file.resize((file.size() + 31) / 32 * 32, '\0');
    return file + data;
  }
  [[nodiscard]] std::vector<std::byte> bytes() const {
    const std::string all = text();
    const auto span = std::as_bytes(std::span(all));
    return {span.begin(), span.end()};
  }

  std::string magic = "GGUF", values, tensors, data;
  std::uint32_t version = 3;
  std::uint64_t tensor_count = 0, value_count = 0;
};

}  // namespace headlight::testing
