// Any bytes as a .safetensors file: accepted or refused by Error, within memory of the file's own order.
// What is accepted fills the file exactly, loads or refuses to convert, and comes out of writing and reading
// again with the same bytes.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "headlight/error.h"
#include "io/safetensors.h"

namespace {

using namespace headlight;

void check_again(const io::Safetensors& first, const std::vector<Tensor>& tensors,
                 const std::vector<io::NamedTensor>& named) {
  std::string file = io::safetensors_header(named, first.metadata());
  for (const io::NamedTensor& one : named) {
    const auto bytes = static_cast<std::size_t>(one.tensor.shape().elements()) * size_of(one.tensor.dtype());
    if (bytes > 0) file.append(static_cast<const char*>(one.tensor.data()), bytes);
  }
  const auto all = std::as_bytes(std::span(file));
  const io::Safetensors second = io::Safetensors::parse({all.begin(), all.end()}, "again");
  if (second.metadata() != first.metadata() || second.entries().size() != tensors.size()) std::abort();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (second.entries()[i].name != named[i].name) std::abort();
    const std::span<const std::byte> bytes = second.bytes(second.entries()[i]);
    if (!bytes.empty() && std::memcmp(bytes.data(), named[i].tensor.data(), bytes.size()) != 0) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const io::Safetensors file = io::Safetensors::parse({bytes.begin(), bytes.end()}, "fuzz");
    std::uint64_t total = 0;
    std::vector<Tensor> tensors;
    std::vector<io::NamedTensor> named;
    for (const io::SafetensorsEntry& entry : file.entries()) {
      if (file.find(entry.name) != &entry) std::abort();
      total += entry.end - entry.begin;
      if (file.bytes(entry).size() != entry.end - entry.begin) std::abort();
      for (const DType as :
           {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64, DType::boolean}) {
        try {
          Tensor tensor = file.load(entry, as);
          if (entry.dtype != io::safetensors_type(as) || as == DType::boolean) continue;
          tensors.push_back(std::move(tensor));
          named.push_back({entry.name, tensors.back()});
        } catch (const Error& error) {
          if (error.kind() != ErrorKind::input) std::abort();
        }
      }
    }
    if (total > size) std::abort();
    check_again(file, tensors, named);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) std::abort();  // parsing memory has no other reason to refuse
  }
  return 0;
}
