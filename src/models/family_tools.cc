#include "models/family_tools.h"

#include <fmt/format.h>

#include <cmath>

namespace headlight::models {
namespace {

struct ActivationName {
  std::string_view hub;
  nn::Activation activation;
};
// The first name of an activation is the one that is written.
constexpr ActivationName kActivations[] = {
    {"relu", nn::Activation::relu},           {"gelu", nn::Activation::gelu},
    {"gelu_new", nn::Activation::gelu_tanh},  {"gelu_pytorch_tanh", nn::Activation::gelu_tanh},
    {"gelu_fast", nn::Activation::gelu_tanh}, {"silu", nn::Activation::silu},
    {"swish", nn::Activation::silu},          {"tanh", nn::Activation::tanh},
    {"sigmoid", nn::Activation::sigmoid}};

}  // namespace

nn::Activation activation_of(const io::Json& json, std::string_view key) {
  const std::string& name = json.text(key);
  for (const auto& [hub, activation] : kActivations)
    if (hub == name) return activation;
  throw Error(ErrorKind::input, "model.config",
              fmt::format("{}: {} is \"{}\", which is not known here; known are relu, gelu, gelu_new, "
                          "gelu_pytorch_tanh, silu, tanh and sigmoid",
                          json.file(), key, name));
}

std::string_view hub_name(nn::Activation activation) {
  for (const auto& [hub, known] : kActivations)
    if (known == activation) return hub;
  return "?";
}

Index layers_of(const io::Json& json, std::string_view key) {
  const Index layers = json.integer(key);
  refuse_unless(layers >= 1 && layers <= 10000, json, key, fmt::format("a model of {} layers", layers));
  return layers;
}

std::vector<std::int32_t> tokens_of(const io::Json& json, std::string_view key) {
  const io::Json* found = json.find(key);
  if (found == nullptr || found->is(io::Json::Kind::null)) return {};
  const std::span<const io::Json> all =
      found->is(io::Json::Kind::list) ? found->items() : std::span(found, 1);
  std::vector<std::int32_t> tokens;
  for (const io::Json& item : all) {
    const std::int64_t token = item.integer();
    refuse_unless(token >= -1 && token < (std::int64_t{1} << 31), json, key,
                  fmt::format("{} is no token's number", token));
    if (token >= 0) tokens.push_back(static_cast<std::int32_t>(token));
  }
  return tokens;
}

std::int32_t token_of(const io::Json& json, std::string_view key) {
  const std::vector<std::int32_t> tokens = tokens_of(json, key);
  return tokens.empty() ? -1 : tokens.front();
}

void refuse_unless(bool supported, const io::Json& json, std::string_view key, std::string_view why) {
  if (!supported)
    throw Error(ErrorKind::input, "model.config", fmt::format("{}: {}: {}", json.file(), key, why));
}

namespace {

// One factor for each pair.
std::vector<double> rope_factors(const io::Json& entry, const io::Json& json, std::string_view key) {
  std::vector<double> factors;
  for (const io::Json& item : entry.list(key).items()) {
    factors.push_back(item.real());
    refuse_unless(factors.back() > 0 && std::isfinite(factors.back()), json, key,
                  fmt::format("rotations cannot be divided by {}", factors.back()));
  }
  return factors;
}

// Phi 3's way: each pair has a factor for texts up to the original context and another one beyond. Those up to
// it are supported; settle_longrope() makes the rest of the model fit to that.
void read_longrope(const io::Json& entry, const io::Json& json, nn::RopeConfig& rope) {
  rope.factors = rope_factors(entry, json, "short_factor");
  const std::size_t beyond = rope_factors(entry, json, "long_factor").size();
  refuse_unless(beyond == rope.factors.size(), json, "long_factor",
                fmt::format("{} factors; short_factor has {}", beyond, rope.factors.size()));
  const Index positions = json.integer("max_position_embeddings");
  const Index original = entry.integer_or("original_max_position_embeddings",
                                          json.integer_or("original_max_position_embeddings", positions));
  refuse_unless(original > 1, json, "original_max_position_embeddings",
                fmt::format("a context of {} tokens", original));
  rope.scaling.original_positions = original;
  const double stretch = static_cast<double>(positions) / static_cast<double>(original);
  rope.scaling.attention_factor = entry.real_or(
      "attention_factor",
      stretch > 1 ? std::sqrt(1 + std::log(stretch) / std::log(static_cast<double>(original))) : 1);
}

}  // namespace

// What cos and sin are multiplied with, queries and keys both are, so it becomes a part of the scores' scale.
std::string settle_longrope(TransformerConfig& c) {
  const nn::RopeScaling& s = c.rope.scaling;
  const std::vector<double>& factors = c.rope.factors;
  if (c.positions != PositionKind::rope || s.kind != nn::RopeScaling::Kind::none || factors.empty() ||
      s.original_positions == 0)
    return "";
  if (c.rope.dims > 0 || c.window_rope)
    return "rotations of a part of each head, or of some layers, are not supported";
  const Index dim = c.head_dim > 0 ? c.head_dim : c.width / std::max<Index>(1, c.heads);
  if (dim < 1 || static_cast<Index>(factors.size()) != dim / 2)
    return fmt::format("{} factors for {} pairs", factors.size(), dim / 2);
  if (!(s.attention_factor > 0) || !std::isfinite(s.attention_factor))
    return fmt::format("an attention_factor of {}", s.attention_factor);
  c.attention_scale = c.attention_scale.value_or(1 / std::sqrt(static_cast<double>(dim))) *
                      s.attention_factor * s.attention_factor;
  c.max_positions = std::min(c.max_positions, s.original_positions);
  return "";
}

nn::RopeConfig rope_entry(const io::Json& entry, const io::Json& json, double theta) {
  using Kind = nn::RopeScaling::Kind;
  nn::RopeConfig rope;
  rope.theta = entry.real_or("rope_theta", theta);
  const std::string type = entry.text_or("rope_type", entry.text_or("type", "default"));
  nn::RopeScaling& s = rope.scaling;
  if (type == "default") return rope;
  if (type == "linear") s.kind = Kind::linear;
  else if (type == "dynamic") s.kind = Kind::dynamic;
  else if (type == "yarn") s.kind = Kind::yarn;
  else if (type == "llama3") s.kind = Kind::llama3;
  else if (type == "longrope" || type == "su") return read_longrope(entry, json, rope), rope;
  else
    refuse_unless(false, json, "rope_type",
                  fmt::format("\"{}\" is not known here; known are default, linear, "
                              "dynamic, yarn, llama3 and longrope",
                              type));
  s.factor = entry.real("factor");
  s.original_positions = entry.integer_or(
      "original_max_position_embeddings",
      json.integer_or("original_max_position_embeddings", json.integer_or("max_position_embeddings", 0)));
  s.low_frequency = entry.real_or("low_freq_factor", s.low_frequency);
  s.high_frequency = entry.real_or("high_freq_factor", s.high_frequency);
  s.beta_fast = entry.real_or("beta_fast", s.beta_fast);
  s.beta_slow = entry.real_or("beta_slow", s.beta_slow);
  s.truncate = entry.boolean_or("truncate", s.truncate);
  s.attention_factor = entry.real_or("attention_factor", 0);
  const double mscale = entry.real_or("mscale", 0), all = entry.real_or("mscale_all_dim", 0);
  if (s.kind == Kind::yarn && s.attention_factor == 0 && mscale > 0 && all > 0 && s.factor > 1)
    s.attention_factor = (0.1 * mscale * std::log(s.factor) + 1) / (0.1 * all * std::log(s.factor) + 1);
  return rope;
}

nn::RopeConfig rope_of(const io::Json& json, Index head_dim, double rotary_share) {
  const double theta = json.real_or("rope_theta", json.real_or("rotary_emb_base", 10000));
  nn::RopeConfig rope;
  rope.theta = theta;
  const io::Json* parameters = json.find("rope_parameters");
  if (parameters == nullptr || !parameters->is(io::Json::Kind::object))
    parameters = json.find("rope_scaling");
  double share = json.real_or("partial_rotary_factor", json.real_or("rotary_pct", rotary_share));
  if (parameters != nullptr && parameters->is(io::Json::Kind::object)) {
    rope = rope_entry(*parameters, json, theta);
    share = parameters->real_or("partial_rotary_factor", share);
  }
  refuse_unless(share > 0 && share <= 1, json, "partial_rotary_factor",
                fmt::format("{} is no share of a head", share));
  refuse_unless(head_dim >= 0 && head_dim < (Index{1} << 31), json, "head_dim",
                fmt::format("heads of {}", head_dim));
  rope.dims = static_cast<Index>(static_cast<double>(head_dim) * share);
  if (rope.dims == head_dim) rope.dims = 0;
  return rope;
}

std::vector<Index> windows_of(const io::Json& json, Index layers) {
  const io::Json* types = json.find("layer_types");
  if (types == nullptr || types->is(io::Json::Kind::null)) return {};
  const std::span<const io::Json> list = json.list("layer_types").items();
  refuse_unless(static_cast<Index>(list.size()) == layers, json, "layer_types",
                fmt::format("{} types for {} layers", list.size(), layers));
  std::vector<Index> windows;
  bool any = false;
  for (const io::Json& type : list) {
    const bool slides = type.text() == "sliding_attention";
    refuse_unless(
        slides || type.text() == "full_attention", json, "layer_types",
        fmt::format("\"{}\" is not known here; known are full_attention and sliding_attention", type.text()));
    any = any || slides;
    windows.push_back(slides ? json.integer("sliding_window") : 0);
  }
  return any ? windows : std::vector<Index>{};
}

ConfigWriter& ConfigWriter::text(std::string_view key, std::string_view value) {
  writer_.field(key, value);
  return *this;
}
ConfigWriter& ConfigWriter::integer(std::string_view key, std::int64_t value) {
  writer_.field(key, value);
  return *this;
}
ConfigWriter& ConfigWriter::token(std::string_view key, std::int32_t value) {
  writer_.field(key, value < 0 ? std::nullopt : std::optional(value));
  return *this;
}
ConfigWriter& ConfigWriter::tokens(std::string_view key, std::span<const std::int32_t> values) {
  if (values.size() <= 1) return token(key, values.empty() ? -1 : values.front());
  writer_.field(key, values);
  return *this;
}
ConfigWriter& ConfigWriter::real(std::string_view key, double value) {
  writer_.field(key, value);
  return *this;
}
ConfigWriter& ConfigWriter::boolean(std::string_view key, bool value) {
  writer_.field(key, value);
  return *this;
}
ConfigWriter& ConfigWriter::null(std::string_view key) {
  writer_.field(key, nullptr);
  return *this;
}
ConfigWriter& ConfigWriter::architecture(std::string_view name) {
  writer_.key("architectures").begin_list().value(name).end_list();
  return *this;
}
std::string ConfigWriter::finish() { return writer_.end_object().take_line(); }

}  // namespace headlight::models
