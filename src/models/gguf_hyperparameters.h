// Hyperparameters from GGUF metadata, read strictly: "llama.block_count" and the like. Biases, gates and norms of heads
// have no keys; they exist if their tensors do.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/gguf.h"
#include "models/hyperparameters.h"

namespace headlight::models {

// A tensor of numbers that pairs' angles are divided by: Llama 3.
inline constexpr std::string_view kRopeFactors = "rope_freqs.weight";
// Phi 3's: up to the original context, and beyond.
inline constexpr std::string_view kShortFactors = "rope_factors_short.weight",
                                  kLongFactors = "rope_factors_long.weight";

class GgufHyperparameters : public Hyperparameters {
 public:
  // The file must outlive this. Throws Error{input} for values that are invalid in every architecture.
  GgufHyperparameters(const io::Gguf& file, std::string_view architecture);

  [[nodiscard]] bool gguf() const override { return true; }
  [[nodiscard]] bool has(Key key) const override;
  [[nodiscard]] Index count(Key key) const override;
  [[nodiscard]] double real(Key key) const override;
  [[nodiscard]] bool flag(Key key) const override;
  [[nodiscard]] std::string text(Key key) const override;
  [[nodiscard]] std::vector<std::int32_t> tokens(Key key) const override;
  [[nodiscard]] std::vector<Index> counts(Key /*key*/) const override { return {}; }
  [[nodiscard]] std::vector<std::string> texts(Key /*key*/) const override { return {}; }
  [[nodiscard]] std::vector<std::string> kinds() const override { return {}; }
  [[nodiscard]] std::string entry(Key /*key*/, std::string_view /*field*/) const override { return ""; }
  [[nodiscard]] std::vector<std::string> entries(Key /*key*/) const override { return {}; }
  [[nodiscard]] double epsilon(Key key, double otherwise) const override;
  [[nodiscard]] nn::RopeConfig rope(const RopeRule& rule) const override;
  [[nodiscard]] nn::RopeConfig window_rope(const RopeRule& rule) const override;
  [[nodiscard]] std::vector<Index> windows(Index layers, const WindowRule& rule) const override;
  [[nodiscard]] Error refusal(Key key, const std::string& why) const override;

 private:
  [[nodiscard]] std::string whole(std::string_view key) const { return prefix_ + std::string(key); }
  [[nodiscard]] bool has_value(std::string_view key) const { return file_.find_value(whole(key)) != nullptr; }
  using Hyperparameters::refuse;
  [[noreturn]] void refuse(std::string_view code, const std::string& what) const;
  [[nodiscard]] Index count(std::string_view key, std::string_view code, Index least, Index most) const;
  [[nodiscard]] std::optional<double> finite(std::string_view key) const;
  [[nodiscard]] bool has_tensor(Key key) const;
  [[nodiscard]] Index rows_of_tensor(Key key) const;
  void check_heads() const;
  void check_tokens() const;
  [[nodiscard]] Index rotated(Index head_dim) const;
  void read_rope_scaling(nn::RopeConfig& rope) const;
  void read_rope_factors(std::string_view tensor, nn::RopeConfig& rope, Index dims) const;
  void read_longrope(nn::RopeConfig& rope, Index dims) const;

  const io::Gguf& file_;
  std::string prefix_;
};

}  // namespace headlight::models
