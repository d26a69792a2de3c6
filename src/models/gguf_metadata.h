// The values of one architecture in a GGUF file, read strictly: "llama.block_count" and its like.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/gguf.h"
#include "models/transformer_config.h"

namespace headlight::models {

// A tensor of numbers that pairs' angles are divided by: Llama 3.
inline constexpr std::string_view kRopeFactors = "rope_freqs.weight";
// Phi 3's: up to the original context, and beyond.
inline constexpr std::string_view kShortFactors = "rope_factors_short.weight",
                                  kLongFactors = "rope_factors_long.weight";

class GgufMetadata {
 public:
  GgufMetadata(const io::Gguf& file, std::string_view architecture)
      : file_(file), prefix_(std::string(architecture) + ".") {}

  [[nodiscard]] const io::Gguf& file() const { return file_; }
  // Throws Error{input} with the code "gguf.CODE".
  [[noreturn]] void refuse(std::string_view code, const std::string& what) const;

  // Keys are given without the architecture's name before them.
  [[nodiscard]] bool has(std::string_view key) const;
  // Must be there, and within limits; whatever is wrong has this code.
  [[nodiscard]] Index count(std::string_view key, std::string_view code, Index most = Index{1} << 31,
                            Index least = 1) const;
  [[nodiscard]] double epsilon(std::string_view key) const;
  [[nodiscard]] std::optional<double> real(std::string_view key) const;  // finite
  [[nodiscard]] std::optional<bool> boolean(std::string_view key) const;
  [[nodiscard]] Index window(Index otherwise) const;  // 0: none
  // attention.sliding_window_pattern: true for layers with a window; without it, all but every so many.
  [[nodiscard]] std::vector<bool> sliding_layers(Index layers, Index every) const;
  // Base, dimensions, scaling and factors.
  void read_rope(TransformerConfig& c) const;

 private:
  [[nodiscard]] std::string whole(std::string_view key) const { return prefix_ + std::string(key); }
  void read_rope_scaling(nn::RopeConfig& rope, Index context) const;
  void read_rope_factors(std::string_view name, nn::RopeConfig& rope, Index dims) const;
  void read_longrope(nn::RopeConfig& rope, Index dims) const;

  const io::Gguf& file_;
  std::string prefix_;
};

}  // namespace headlight::models
