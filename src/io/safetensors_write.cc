#include <cstring>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/json_writer.h"
#include "io/safetensors.h"

namespace headlight::io {
namespace {

std::uint64_t bytes_of(const NamedTensor& named) {
  const ConstTensorView& tensor = named.tensor;
  Index step = 1;
  for (int axis = tensor.rank() - 1; axis >= 0; --axis) {
    if (tensor.dim(axis) != 1 && tensor.stride(axis) != step) {
      throw Error(ErrorKind::usage, "safetensors.layout",
                  concat("safetensors: tensor \"", escaped(named.name, 80), "\" is not contiguous"));
    }
    step *= tensor.dim(axis);
  }
  return static_cast<std::uint64_t>(tensor.shape().elements()) * size_of(tensor.dtype());
}

}  // namespace

std::string safetensors_header(std::span<const SafetensorsEntry> entries, const Metadata& metadata) {
  JsonWriter writer;
  writer.begin_object(JsonLayout::tight);
  if (!metadata.empty()) {
    writer.key("__metadata__").begin_object(JsonLayout::tight);
    for (const auto& [key, value] : metadata) writer.field(key, value);
    writer.end_object();
  }
  for (const SafetensorsEntry& entry : entries) {
    writer.key(entry.name).begin_object(JsonLayout::tight).field("dtype", entry.dtype);
    writer.key("shape").begin_list(JsonLayout::tight);
    for (const Index n : entry.shape) writer.value(n);
    writer.end_list().key("data_offsets").begin_list(JsonLayout::tight);
    writer.value(entry.begin).value(entry.end).end_list().end_object();
  }
  std::string text = writer.end_object().take();
  text.append((64 - (text.size() + 8) % 64) % 64, ' ');
  const std::uint64_t length = text.size();
  std::string header(sizeof length, '\0');
  std::memcpy(header.data(), &length, sizeof length);
  return header + text;
}

std::string safetensors_header(std::span<const NamedTensor> tensors, const Metadata& metadata) {
  std::vector<SafetensorsEntry> entries;
  std::uint64_t begin = 0;
  for (const NamedTensor& named : tensors) {
    const Shape& shape = named.tensor.shape();
    const std::uint64_t end = begin + bytes_of(named);
    entries.push_back({named.name,
                       std::string(safetensors_type(named.tensor.dtype())),
                       {shape.dims.begin(), shape.dims.begin() + shape.rank},
                       begin,
                       end});
    begin = end;
  }
  return safetensors_header(entries, metadata);
}

void write_safetensors(Outputs& outputs, const std::string& path, std::span<const NamedTensor> tensors,
                       const Metadata& metadata) {
  const std::string header = safetensors_header(tensors, metadata);
  outputs.write(path, std::as_bytes(std::span(header)));
  for (const NamedTensor& named : tensors) {
    const std::uint64_t bytes = bytes_of(named);
    if (bytes > 0)
      outputs.write(path,
                    {static_cast<const std::byte*>(named.tensor.data()), static_cast<std::size_t>(bytes)});
  }
}

}  // namespace headlight::io
