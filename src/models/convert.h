// Converts the matrices of a model folder to another precision: half or a quarter of the bytes to store,
// load, and read for every token.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::models {

enum class StoredAs : std::uint8_t { f32, f16, bf16, int8 };
[[nodiscard]] std::string_view name_of(StoredAs type) noexcept;  // "bf16"

struct ConvertOptions {
  StoredAs type = StoredAs::f16;
  bool replace = false;      // an existing folder `to`
  std::string adapter = {};  // the folder of an adapter, which is merged into the matrices
};
struct Converted {
  std::int64_t tensors = 0, matrices = 0;
  std::int64_t bytes_before = 0, bytes_after = 0;  // of the files with weights
  // Relative error of the matrices: the norm of the difference divided by the norm.
  double relative_error = 0;
  std::vector<std::string>
      left_out;                     // tensors that are not floats: masks and counters, which models recompute
  std::int64_t merged = 0;          // matrices with an adapter
  std::vector<std::string> copied;  // files of the tokenizer and others that belong to a model
  std::vector<std::string> notices = {};  // what a .gguf file lacks
};

// Matrices of at least 16 rows and columns become `type`, all other floats f32. Everything is written
// under a temporary name and renamed when it is complete. Throws Error: usage for an impossible `to`,
// file and input as load_transformer() does, numeric for numbers that the type cannot represent.
Converted convert_folder(const std::string& from, const std::string& to, const ConvertOptions& options);
// A .gguf file becomes such a folder: parameters in the names and order of Hugging Face, config.json, the tokenizer and its chat
// template. Only for families whose config.json can be written; Error{usage} names the reason for others, or for an adapter.
Converted convert_to_folder(const std::string& from, const std::string& to, const ConvertOptions& options);

}  // namespace headlight::models
