#include "io/gguf_write.h"

#include <string_view>

namespace headlight::io {
namespace {

template <class T>
void put(std::string& to, T number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof number);
}
void put_text(std::string& to, std::string_view text) {
  put(to, std::uint64_t{text.size()});
  to += text;
}

void put_value(std::string& to, const GgufValue& value) {
  put_text(to, value.key);
  put(to, static_cast<std::uint32_t>(value.type));
  if (value.type == GgufType::text) put(to, std::uint64_t{value.bytes.size()});
  if (value.type == GgufType::list) {
    put(to, static_cast<std::uint32_t>(value.item));
    put(to, value.count);
  }
  to.append(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
}

}  // namespace

std::string gguf_header(std::span<const GgufValue> values, std::span<const GgufEntry> tensors,
                        std::uint64_t alignment) {
  constexpr std::uint32_t kVersion = 3;
  std::string header = "GGUF";
  put(header, kVersion);
  put(header, std::uint64_t{tensors.size()});
  put(header, std::uint64_t{values.size()});
  for (const GgufValue& value : values) put_value(header, value);
  std::uint64_t at = 0;
  for (const GgufEntry& tensor : tensors) {
    put_text(header, tensor.name);
    put(header, static_cast<std::uint32_t>(tensor.shape.rank));
    for (int axis = tensor.shape.rank; axis-- > 0;)
      put(header, static_cast<std::uint64_t>(tensor.shape[axis]));
    put(header, tensor.type->id);
    put(header, at);
    at += tensor.bytes + gguf_padding(tensor.bytes, alignment);
  }
  header.resize(header.size() + static_cast<std::size_t>(gguf_padding(header.size(), alignment)), '\0');
  return header;
}

}  // namespace headlight::io
