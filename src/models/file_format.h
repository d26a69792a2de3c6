// The format of a file, by its name and its first bytes.
#pragma once

#include <cstdint>
#include <string>

namespace headlight::models {

enum class FileFormat : std::uint8_t { gguf, safetensors, npy, tokenizer };

// By the file extension if it is known, otherwise by the first bytes. Throws Error{file} when it cannot be opened,
// Error{input} when it is none of these.
[[nodiscard]] FileFormat format_of(const std::string& path);

// Whether the path names a GGUF file. Folders are none, whatever their name.
[[nodiscard]] bool is_gguf(const std::string& path);

}  // namespace headlight::models
