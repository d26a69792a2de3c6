// Any bytes as a GGUF file: accepted or refused by Error, within memory of the file's own order. What is
// accepted has unique names, values that answer every question or refuse it, ranges that are inside, and
// blocks that become floats.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "headlight/error.h"
#include "io/gguf.h"

namespace {

using namespace headlight;

template <class Call>
void input_or_fine(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) std::abort();
  }
}

void ask(const io::Gguf& file, const io::GgufValue& value) {
  if (file.find_value(value.key) != &value) std::abort();
  input_or_fine([&] { (void)file.text(value.key); });
  input_or_fine([&] { (void)file.integer(value.key); });
  input_or_fine([&] { (void)file.real(value.key); });
  input_or_fine([&] { (void)file.boolean(value.key); });
  input_or_fine([&] { (void)file.integers(value.key); });
  input_or_fine([&] { (void)file.reals(value.key); });
  input_or_fine([&] {
    if (file.texts(value.key)->size() != value.count) std::abort();
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  input_or_fine([&] {
    const io::Gguf file = io::Gguf::parse({bytes.begin(), bytes.end()}, "fuzz");
    for (const io::GgufValue& value : file.values()) ask(file, value);
    std::uint64_t total = 0;
    for (const io::GgufTensor& tensor : file.tensors()) {
      if (file.find_tensor(tensor.name) != &tensor) std::abort();
      if (file.bytes(tensor).size() != tensor.bytes) std::abort();
      if (tensor.type->bytes == 0 && tensor.type->loads()) std::abort();
      if (tensor.type->bytes > 0) (void)io::has_bad_scale(*tensor.type, file.bytes(tensor));
      total += tensor.bytes;
      input_or_fine([&] { (void)file.load(tensor); });
    }
    if (total > size) std::abort();
  });
  return 0;
}
