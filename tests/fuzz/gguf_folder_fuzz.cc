// Any bytes as a .gguf file that becomes a folder: its config.json, its parameters in the folder's order and its tokenizer's
// files, or a refusal by Error. What is written can be read: the config.json describes a model of the same sizes.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "headlight/error.h"
#include "models/families.h"
#include "models/gguf_folder.h"

namespace {

using namespace headlight;

// ModelFiles reads files alone.
struct File {
  std::string path =
      (std::filesystem::temp_directory_path() / ("headlight-fuzz-" + std::to_string(::getpid()) + ".gguf"))
          .string();
  File(const std::uint8_t* data, std::size_t size) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  }
  ~File() { std::filesystem::remove(path); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  if (size > kMost) return 0;
  const File file(data, size);
  try {
    const models::ModelFiles files(file.path);
    const models::GgufFolder folder(files);
    for (const auto& [name, text] : folder.texts()) {
      if (name != "config.json") continue;
      const models::TransformerConfig config = models::read_config(io::Json::parse(text, name));
      if (config.decoder.size() + config.encoder.size() == 0) std::abort();
    }
    for (const models::StoredTensor& tensor : folder.tensors())
      if (folder.bytes(tensor.name).size() != tensor.size) std::abort();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input && error.kind() != ErrorKind::usage) std::abort();
  }
  return 0;
}
