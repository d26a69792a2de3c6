// Reads the golden files: a test-only reader that trusts its input and shares nothing with the library's.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "headlight/tensor.h"

namespace headlight::testing {

// F32 and I64 tensors by name. Throws std::runtime_error when the file is not what it should be.
[[nodiscard]] std::map<std::string, Tensor> read_safetensors(const std::filesystem::path& path);

}  // namespace headlight::testing
