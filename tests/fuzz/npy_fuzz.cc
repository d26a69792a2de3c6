// Any bytes as a .npy file: accepted or refused by Error, within the memory of the file's own size.
// What is accepted must come out of writing and reading again with the same bits.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "headlight/error.h"
#include "io/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headlight;
  try {
    const io::NpyArray first = io::parse_npy(std::as_bytes(std::span(data, size)), "fuzz.npy");
    const std::size_t bytes =
        static_cast<std::size_t>(first.tensor.shape().elements()) * size_of(first.tensor.dtype());
    if (bytes > size) std::abort();
    const std::string header = io::npy_header(first.tensor.dtype(), first.shape);
    std::vector<std::byte> file(header.size() + bytes);
    std::memcpy(file.data(), header.data(), header.size());
    if (bytes > 0) std::memcpy(file.data() + header.size(), first.tensor.as<std::byte>(), bytes);
    const io::NpyArray second = io::parse_npy(file, "again.npy");
    if (second.shape != first.shape || second.tensor.dtype() != first.tensor.dtype()) std::abort();
    if (bytes > 0 && std::memcmp(second.tensor.as<std::byte>(), first.tensor.as<std::byte>(), bytes) != 0)
      std::abort();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) std::abort();  // parsing memory has no other reason to refuse
  }
  return 0;
}
