// Shared by the readers of families: a model with equal layers, from the fields that nearly all families have.
#pragma once

#include <optional>
#include <vector>

#include "io/json_writer.h"
#include "models/families.h"
#include "models/hyperparameters.h"
#include "models/transformer_config.h"

namespace headlight::models {

// Defaults of a family for settings that its files omit.
struct Usual {
  nn::NormConfig norm = {};
  nn::Activation activation = nn::Activation::gelu_tanh;  // of GGUF files, which do not store it
  bool gated = false;
  bool qkv_bias = true, out_bias = true, feed_forward_bias = true;
  bool head_norm = false;
  bool tied = true;
  bool needs_activation = true;                 // else `activation`
  bool needs_inner = true;                      // else 4 · width
  bool experts = false;                         // its reader supports them
  std::optional<Index> context = std::nullopt;  // none: the field is required
};

struct Draft {
  TransformerConfig c = {};  // all but its layers
  nn::BlockConfig block = {};
  Index layers = 0;
  std::vector<Index> windows = {};  // keys that each layer sees, 0: all; empty: all layers see all
  std::optional<nn::RopeConfig> window_rope = std::nullopt;  // of layers with a window; else as all

  [[nodiscard]] Index head_dim() const;
};

[[nodiscard]] Draft draft(const Hyperparameters& h, const Usual& usual);
[[nodiscard]] TransformerConfig decoder_of(const Draft& draft);
[[nodiscard]] TransformerConfig encoder_of(const Draft& draft);

// Disables rotations in the layers of no_rope_layers in config.json, or in every n-th layer.
void skip_rotations(const Hyperparameters& h, TransformerConfig& c, Index every);

// Root mean square norms, and those of mean and variance.
[[nodiscard]] nn::NormConfig rms_norm(const Hyperparameters& h, double eps = 1e-6);
[[nodiscard]] nn::NormConfig layer_norm(const Hyperparameters& h, double eps = 1e-5);

// An object of config.json, key by key.
class ConfigWriter {
 public:
  ConfigWriter& text(std::string_view key, std::string_view value);
  ConfigWriter& integer(std::string_view key, std::int64_t value);
  ConfigWriter& token(std::string_view key, std::int32_t value);                     // -1: null
  ConfigWriter& tokens(std::string_view key, std::span<const std::int32_t> values);  // one, a list, or null
  ConfigWriter& real(std::string_view key, double value);
  ConfigWriter& boolean(std::string_view key, bool value);
  ConfigWriter& null(std::string_view key);
  ConfigWriter& architecture(std::string_view name);
  [[nodiscard]] std::string finish();

 private:
  io::JsonWriter writer_ = io::JsonWriter().begin_object(io::JsonLayout::lines);
};

}  // namespace headlight::models
