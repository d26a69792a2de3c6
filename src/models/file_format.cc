#include "models/file_format.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <string_view>

#include "core/concat.h"
#include "core/escape.h"
#include "headlight/error.h"
#include "io/file.h"

namespace headlight::models {

FileFormat format_of(const std::string& path) {
  const io::File file(path);
  const std::filesystem::path extension = std::filesystem::path(path).extension();
  if (extension == ".gguf") return FileFormat::gguf;
  if (extension == ".safetensors") return FileFormat::safetensors;
  if (extension == ".npy") return FileFormat::npy;
  if (extension == ".json" || extension == ".model" || extension == ".txt") return FileFormat::tokenizer;
  std::array<char, 16> start{};
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(start.size(), file.size()));
  file.read(0, std::as_writable_bytes(std::span(start).first(size)));
  const std::string_view text(start.data(), size);
  if (text.starts_with("GGUF")) return FileFormat::gguf;
  if (text.starts_with("\x93NUMPY")) return FileFormat::npy;
  if (size > 8 && text[8] == '{') return FileFormat::safetensors;
  throw Error(ErrorKind::input, "file.format",
              concat(escaped(path),
                     ": unknown kind of file\n"
                     "Supported are model folders, .safetensors, .gguf, .npy, tokenizer.json, SentencePiece "
                     ".model and vocab.txt."));
}

bool is_gguf(const std::string& path) {
  std::error_code ignored;
  return path.ends_with(".gguf") && !std::filesystem::is_directory(path, ignored);
}

}  // namespace headlight::models
