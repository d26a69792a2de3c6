#include "models/gguf_metadata.h"

#include <fmt/format.h>

#include <cmath>

#include "core/escape.h"
#include "headlight/error.h"

namespace headlight::models {

void GgufMetadata::refuse(std::string_view code, const std::string& what) const {
  throw Error(ErrorKind::input, fmt::format("gguf.{}", code),
              fmt::format("{}: {}", escaped(file_.name()), what));
}

bool GgufMetadata::has(std::string_view key) const { return file_.find_value(whole(key)) != nullptr; }

Index GgufMetadata::count(std::string_view key, std::string_view code, Index most, Index least) const {
  const std::string name = whole(key);
  std::optional<std::int64_t> found;
  try {
    found = file_.integer(name);
  } catch (const Error& error) { throw Error(ErrorKind::input, fmt::format("gguf.{}", code), error.what()); }
  if (!found) refuse(code, fmt::format("lacks {}", name));
  if (*found < least || *found > most)
    refuse(code, fmt::format("{} is {}; need {} to {}", name, *found, least, most));
  return *found;
}

double GgufMetadata::epsilon(std::string_view key) const {
  const std::optional<double> eps = file_.real(whole(key));
  if (!eps) refuse("epsilon", fmt::format("lacks {}", whole(key)));
  if (!(*eps >= 0 && *eps < 1)) refuse("epsilon", fmt::format("{} is {}", whole(key), *eps));
  // Stored as f32, meant as a decimal number: 9.99999997e-07 is 1e-6.
  return std::stod(fmt::format("{}", static_cast<float>(*eps)));
}

std::optional<double> GgufMetadata::real(std::string_view key) const {
  const std::optional<double> found = file_.real(whole(key));
  if (found && !std::isfinite(*found)) refuse("number", fmt::format("{} is {}", whole(key), *found));
  return found;
}

std::optional<bool> GgufMetadata::boolean(std::string_view key) const { return file_.boolean(whole(key)); }

Index GgufMetadata::window(Index otherwise) const {
  constexpr std::string_view kKey = "attention.sliding_window";
  return has(kKey) ? count(kKey, "window", Index{1} << 31, 0) : otherwise;
}

std::vector<bool> GgufMetadata::sliding_layers(Index layers, Index every) const {
  constexpr std::string_view kKey = "attention.sliding_window_pattern";
  const io::GgufValue* value = file_.find_value(whole(kKey));
  std::vector<bool> slides;
  if (value != nullptr && value->type == io::GgufType::list) {
    if (value->item != io::GgufType::boolean || value->count != static_cast<std::uint64_t>(layers))
      refuse("window", fmt::format("{} is no list of {} booleans", whole(kKey), layers));
    for (const std::byte one : value->bytes) slides.push_back(one != std::byte{0});
    return slides;
  }
  if (value != nullptr) every = count(kKey, "window");
  for (Index n = 0; n < layers; ++n) slides.push_back((n + 1) % every != 0);
  return slides;
}

void GgufMetadata::read_rope_scaling(nn::RopeConfig& rope, Index context) const {
  using Kind = nn::RopeScaling::Kind;
  nn::RopeScaling& s = rope.scaling;
  const std::string type(
      file_.text(whole("rope.scaling.type")).value_or(has("rope.scaling.factor") ? "linear" : "none"));
  double factor = real("rope.scaling.factor").value_or(1);
  if (const auto old = real("rope.scale_linear"); old && type == "none") factor = *old, s.kind = Kind::linear;
  if (type == "linear") s.kind = Kind::linear;
  else if (type == "yarn") s.kind = Kind::yarn;
  else if (type != "none")
    refuse("rope",
           fmt::format(
               "rotations are stretched in the way \"{}\"; none, linear, yarn and longrope are supported",
               escaped(type, 40)));
  if (s.kind == Kind::none) return;
  if (!(factor > 0)) refuse("rope", fmt::format("rotations are stretched by {}", factor));
  s.factor = factor;
  s.original_positions = has("rope.scaling.original_context_length")
                             ? count("rope.scaling.original_context_length", "rope")
                             : context;
  const double attention = real("rope.scaling.attn_factor").value_or(1);
  if (s.kind == Kind::yarn && attention != 1)
    s.attention_factor = attention * (0.1 * std::log(std::max(1.0, factor)) + 1);
}

void GgufMetadata::read_rope_factors(std::string_view name, nn::RopeConfig& rope, Index dims) const {
  const io::GgufTensor* tensor = file_.find_tensor(name);
  if (tensor == nullptr) return;
  if (tensor->elements != static_cast<std::uint64_t>(dims / 2))
    refuse("rope",
           fmt::format("tensor \"{}\" has {} numbers for {} pairs", name, tensor->elements, dims / 2));
  const Tensor factors = file_.load(*tensor);
  for (Index i = 0; i < dims / 2; ++i) {
    const auto factor = static_cast<double>(factors.as<float>()[i]);
    if (!(factor > 0) || !std::isfinite(factor))
      refuse("rope", fmt::format("tensor \"{}\" has the factor {}", name, factor));
    rope.factors.push_back(factor);
  }
}

// The factors up to the original context; the others are for texts that are refused.
void GgufMetadata::read_longrope(nn::RopeConfig& rope, Index dims) const {
  if (file_.find_tensor(kShortFactors) == nullptr)
    refuse("rope", fmt::format("rotations are stretched in the way \"longrope\" without a tensor \"{}\"",
                               kShortFactors));
  read_rope_factors(kShortFactors, rope, dims);
  rope.scaling.original_positions = count("rope.scaling.original_context_length", "rope");
  rope.scaling.attention_factor = real("rope.scaling.attn_factor").value_or(1);
}

void GgufMetadata::read_rope(TransformerConfig& c) const {
  nn::RopeConfig& rope = c.rope;
  rope.theta = real("rope.freq_base").value_or(rope.theta);
  if (!(rope.theta > 0)) refuse("rope", fmt::format("{} is {}", whole("rope.freq_base"), rope.theta));
  Index dims = c.head_dim;
  if (has("rope.dimension_count")) {
    dims = count("rope.dimension_count", "rope");
    if (dims % 2 != 0 || dims > c.head_dim)
      refuse("rope", fmt::format("{} of {} dimensions of a head are rotated; need an even number of them",
                                 dims, c.head_dim));
    rope.dims = dims == c.head_dim ? 0 : dims;
  }
  if (file_.text(whole("rope.scaling.type")) == "longrope" || file_.find_tensor(kShortFactors) != nullptr)
    return read_longrope(rope, dims);
  read_rope_scaling(rope, has("context_length")
                              ? count("context_length", "context", std::numeric_limits<Index>::max())
                              : 0);
  read_rope_factors(kRopeFactors, rope, dims);
  if (c.window_rope) c.window_rope->dims = rope.dims;
}

}  // namespace headlight::models
