// What readers and writers of config.json share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/error.h"
#include "io/json.h"
#include "io/json_writer.h"
#include "models/families.h"

namespace headlight::models {

// "gelu_new" and its like. Throws Error{input} for one that is not known here.
[[nodiscard]] nn::Activation activation_of(const io::Json& json, std::string_view key);
[[nodiscard]] std::string_view hub_name(nn::Activation activation);

// A number of layers. Throws Error{input} for one that no model has.
[[nodiscard]] Index layers_of(const io::Json& json, std::string_view key);

// A token number; -1 when absent or null.
[[nodiscard]] std::int32_t token_of(const io::Json& json, std::string_view key);

// Token numbers: one, a list of them, or none when absent or null.
[[nodiscard]] std::vector<std::int32_t> tokens_of(const io::Json& json, std::string_view key);

// Throws Error{input}: "config.json: KEY is true; this is not supported".
void refuse_unless(bool supported, const io::Json& json, std::string_view key, std::string_view why);

// rope_parameters (5.x) or rope_theta and rope_scaling (4.x). `dims` is set from partial_rotary_factor.
[[nodiscard]] nn::RopeConfig rope_of(const io::Json& json, Index head_dim, double rotary_share = 1);
// One entry of rope_parameters, for families that have several.
[[nodiscard]] nn::RopeConfig rope_entry(const io::Json& entry, const io::Json& json, double theta);

// Phi 3's long rotations: factors for texts up to the original context; longer ones are refused. Makes the rest of the
// model fit to them, if it has any; says what does not fit, or nothing.
[[nodiscard]] std::string settle_longrope(TransformerConfig& c);

// layer_types with sliding_window: how many keys each layer sees, 0 for all. Empty without layer_types.
[[nodiscard]] std::vector<Index> windows_of(const io::Json& json, Index layers);

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
