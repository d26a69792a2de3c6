// Description of a model's files, from their headers; tensors are read only on request.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "headlight/tensor.h"
#include "models/recurrent.h"
#include "models/transformer_config.h"

namespace headlight::models {

struct TensorInfo {
  std::string name, type;
  std::vector<Index> shape;
  std::uint64_t bytes = 0;
  [[nodiscard]] double elements() const;
};

struct TokenizerInfo {
  std::string kind;  // "byte-level BPE", …
  Index tokens = 0;
};

// Of the folder of a LoRA adapter.
struct AdapterInfo {
  Index rank = 0, matrices = 0;
  double alpha = 0;
  std::string base;  // the model it belongs to; empty: not named
};

struct FileInfo {
  std::string path,
      format;  // "model folder", "adapter folder", "safetensors file", "GGUF file, version 3", "npy array"
  std::uint64_t bytes = 0;   // of tensors
  std::string architecture;  // empty: not named
  std::optional<TransformerConfig> config = std::nullopt;
  std::optional<RecurrentModelConfig> recurrent = std::nullopt;  // instead of a config
  std::string unsupported;                                       // why there is an architecture but no config
  std::vector<TensorInfo> tensors;
  std::optional<AdapterInfo> adapter = std::nullopt;
  std::optional<TokenizerInfo> tokenizer = std::nullopt;
  std::string tokenizer_refused;                    // why there is none
  std::optional<std::uint64_t> nan = std::nullopt;  // number of NaN values, if counted
  std::vector<std::string> notices;

  [[nodiscard]] double elements() const;
  // Memory to run the model: matrices as stored if that type is supported, otherwise as f32; and the keys and values of
  // one token.
  [[nodiscard]] double memory_for_weights() const;
  [[nodiscard]] double memory_per_token() const;
};

// Larger files are searched for NaN only on request.
inline constexpr std::uint64_t kCountedUnasked = std::uint64_t{256} << 20;
enum class Count { small_files, all };

// A folder, or a .safetensors, .gguf or .npy file. Throws Error for what verify() would refuse of the files
// themselves; an unknown architecture is not an error here.
[[nodiscard]] FileInfo describe_file(const std::string& path, Count count = Count::small_files);

// One tensor, in the type that its numbers need: f32 for all floats but f64, i64 for whole numbers. `shape` is
// as stored: a scalar has no axes
struct LoadedTensor {
  TensorInfo info;
  Tensor tensor;
  Shape shape;
};
[[nodiscard]] LoadedTensor load_tensor(const std::string& path, const std::string& name);

// Numbers of a tensor at a glance. Infinities and NaN when it has no finite number.
struct TensorSummary {
  double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0;  // of the finite ones
  Index finite = 0, nan = 0, infinite = 0;
  [[nodiscard]] double mean() const { return sum / static_cast<double>(finite); }
};
[[nodiscard]] TensorSummary summary_of(const Tensor& tensor);

}  // namespace headlight::models
