#include "models/gguf_hyperparameters.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/escape.h"
#include "headlight/error.h"
#include "models/hyperparameter_keys.h"

namespace headlight::models {
namespace {

constexpr Index kMost = Index{1} << 31;

struct Limits {
  Index least = 1, most = kMost;
};
Limits limits_of(Key key) {
  switch (key) {
    case Key::layers:
    case Key::encoder_layers:
    case Key::decoder_layers: return {1, 10000};
    case Key::context: return {1, std::numeric_limits<Index>::max()};
    case Key::experts:
    case Key::experts_used:
    case Key::shared_experts:
    case Key::dense_first:
    case Key::chunk: return {0, 1 << 20};
    case Key::buckets: return {1, 1 << 20};
    case Key::window: return {0, kMost};
    default: return {};
  }
}

}  // namespace

GgufHyperparameters::GgufHyperparameters(const io::Gguf& file, std::string_view architecture)
    : file_(file), prefix_(std::string(architecture) + ".") {
  if (file.integer("split.count").value_or(1) > 1 && file.files() == 1)
    refuse("split", "is part of a split model; open its first file");
  check_heads();
  check_tokens();
}

// Checks that apply to all architectures.
void GgufHyperparameters::check_heads() const {
  const Index width = count(Key::width), heads = count(Key::heads), shared = count_or(Key::kv_heads, heads);
  if (heads % shared != 0)
    refuse("heads", fmt::format("{} heads are not a multiple of {} key heads", heads, shared));
  if (!has(Key::head_dim) && width % heads != 0)
    refuse("heads", fmt::format("width {} is not a multiple of {} heads", width, heads));
  if (has(Key::head_dim) && has(Key::value_dim) && !has(Key::latent_rank) &&
      count(Key::value_dim) != count(Key::head_dim))
    refuse("heads", "keys and values of different lengths are not supported");
}

void GgufHyperparameters::check_tokens() const {
  const Index vocabulary = count(Key::vocabulary);
  const io::GgufValue* tokens = file_.find_value("tokenizer.ggml.tokens");
  if (tokens != nullptr && tokens->count > static_cast<std::uint64_t>(vocabulary))
    refuse("tokens", fmt::format("{} tokens for a vocabulary of {}", tokens->count, vocabulary));
}

void GgufHyperparameters::refuse(std::string_view code, const std::string& what) const {
  throw Error(ErrorKind::input, fmt::format("gguf.{}", code),
              fmt::format("{}: {}", escaped(file_.name()), what));
}

Error GgufHyperparameters::refusal(Key key, const std::string& why) const {
  const KeyRow& row = row_of(key);
  std::string field = row.way == GgufWay::value && has(key) ? whole(row.gguf.front()) : "";
  const io::GgufValue* value = field.empty() ? nullptr : file_.find_value(field);
  const bool counts =
      value != nullptr && (value->type == io::GgufType::u32 || value->type == io::GgufType::i32);
  const std::optional<std::int64_t> number = counts ? file_.integer(field) : std::nullopt;
  if (!field.empty()) field += number ? fmt::format(" is {}: ", *number) : ": ";
  return {ErrorKind::input, fmt::format("gguf.{}", row.code.empty() ? "kind" : row.code),
          fmt::format("{}: {}{}", escaped(file_.name()), field, why)};
}

bool GgufHyperparameters::has_tensor(Key key) const {
  for (const std::string_view name : row_of(key).gguf)
    if (!name.empty() && file_.find_tensor(name) != nullptr) return true;
  return false;
}

bool GgufHyperparameters::has(Key key) const {
  const KeyRow& row = row_of(key);
  switch (row.way) {
    case GgufWay::none: return false;
    case GgufWay::value: return has_value(row.gguf.front());
    case GgufWay::tokenizer: return !tokens(key).empty();
    case GgufWay::has_tensor:
    case GgufWay::lacks_tensor: return true;
    case GgufWay::rows_of_tensor: break;
  }
  return has_tensor(key);
}

Index GgufHyperparameters::count(std::string_view key, std::string_view code, Index least, Index most) const {
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

Index GgufHyperparameters::rows_of_tensor(Key key) const {
  const KeyRow& row = row_of(key);
  const io::GgufTensor* table = file_.find_tensor(row.gguf.front());
  if (table == nullptr)
    refuse(row.code, fmt::format("has no tensor \"{}\", so it is not a model", row.gguf.front()));
  if (table->shape.rank != 2 || table->shape[1] != count(Key::width)) {
    refuse("width", fmt::format("tensor \"{}\" is {} {}; embedding_length is {}", row.gguf.front(),
                                table->type->name, table->shape.text(), count(Key::width)));
  }
  return table->shape[0];
}

Index GgufHyperparameters::count(Key key) const {
  const KeyRow& row = row_of(key);
  if (row.way == GgufWay::rows_of_tensor) return rows_of_tensor(key);
  if (row.way != GgufWay::value) refuse(key, "GGUF files do not have this setting");
  const Limits limits = limits_of(key);
  return count(row.gguf.front(), row.code, limits.least, limits.most);
}

std::optional<double> GgufHyperparameters::finite(std::string_view key) const {
  const std::optional<double> found = file_.real(whole(key));
  if (found && !std::isfinite(*found)) refuse("number", fmt::format("{} is {}", whole(key), *found));
  return found;
}

double GgufHyperparameters::real(Key key) const { return finite(row_of(key).gguf.front()).value_or(0); }

bool GgufHyperparameters::flag(Key key) const {
  const KeyRow& row = row_of(key);
  if (row.way == GgufWay::has_tensor) return has_tensor(key);
  if (row.way == GgufWay::lacks_tensor) return !has_tensor(key);
  return file_.boolean(whole(row.gguf.front())).value_or(false);
}

std::string GgufHyperparameters::text(Key key) const {
  return std::string(file_.text(whole(row_of(key).gguf.front())).value_or(""));
}

std::vector<std::int32_t> GgufHyperparameters::tokens(Key key) const {
  const KeyRow& row = row_of(key);
  const Index vocabulary = count(Key::vocabulary);
  if (row.way == GgufWay::value) {
    if (!has_value(row.gguf.front())) return {};
    return {static_cast<std::int32_t>(count(row.gguf.front(), row.code, 0, vocabulary - 1))};
  }
  std::vector<std::int32_t> ids;
  for (const std::string_view name : row.gguf) {
    if (name.empty()) break;
    const auto found = file_.integer(fmt::format("tokenizer.ggml.{}", name));
    if (!found) continue;
    if (*found < 0 || *found >= vocabulary)
      refuse("token_id", fmt::format("the {} token has the id {} in a vocabulary of {}",
                                     name.substr(0, name.find('_')), *found, vocabulary));
    ids.push_back(static_cast<std::int32_t>(*found));
  }
  return ids;
}

double GgufHyperparameters::epsilon(Key key, double /*otherwise*/) const {
  const std::string name = whole(row_of(key).gguf.front());
  const std::optional<double> eps = file_.real(name);
  if (!eps) refuse("epsilon", fmt::format("lacks {}", name));
  if (!(*eps >= 0 && *eps < 1)) refuse("epsilon", fmt::format("{} is {}", name, *eps));
  // Stored as f32, meant as a decimal number: 9.99999997e-07 is 1e-6.
  return std::stod(fmt::format("{}", static_cast<float>(*eps)));
}

std::vector<Index> GgufHyperparameters::windows(Index layers, const WindowRule& rule) const {
  std::vector<Index> list(static_cast<std::size_t>(layers), 0);
  if (rule.every == 1) return list;
  const Index window = count_or(Key::window, rule.usual);
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  const io::GgufValue* pattern = file_.find_value(whole(kPattern));
  Index every = rule.every;
  if (pattern != nullptr && pattern->type == io::GgufType::list) {
    if (pattern->item != io::GgufType::boolean || pattern->count != static_cast<std::uint64_t>(layers))
      refuse("window", fmt::format("{} is not an array of {} booleans", whole(kPattern), layers));
    for (std::size_t n = 0; n < list.size(); ++n)
      if (pattern->bytes[n] != std::byte{0}) list[n] = window;
    return list;
  }
  if (pattern != nullptr && every > 0) every = count(kPattern, "window", 1, kMost);
  for (Index n = rule.first; n < layers; ++n)
    if (every == 0 || (n + 1) % every != 0) list[static_cast<std::size_t>(n)] = window;
  return list;
}

// ---- Rotations ------------------------------------------------------------------------------------------

Index GgufHyperparameters::rotated(Index head_dim) const {
  constexpr std::string_view kKey = "rope.dimension_count";
  if (!has_value(kKey)) return head_dim;
  const Index dims = count(kKey, "rope", 1, kMost);
  if (dims % 2 != 0 || dims > head_dim)
    refuse("rope", fmt::format("{} of {} dimensions of a head are rotated; need an even number of them", dims,
                               head_dim));
  return dims;
}

nn::RopeConfig GgufHyperparameters::rope(const RopeRule& rule) const {
  nn::RopeConfig rope{.theta = finite("rope.freq_base").value_or(rule.theta)};
  if (!(rope.theta > 0)) refuse("rope", fmt::format("{} is {}", whole("rope.freq_base"), rope.theta));
  const Index dims = rotated(rule.head_dim);
  rope.dims = dims == rule.head_dim ? 0 : dims;
  if (file_.text(whole("rope.scaling.type")) == "longrope" || file_.find_tensor(kShortFactors) != nullptr) {
    read_longrope(rope, dims);
    return rope;
  }
  read_rope_scaling(rope);
  read_rope_factors(kRopeFactors, rope, dims);
  return rope;
}

nn::RopeConfig GgufHyperparameters::window_rope(const RopeRule& rule) const {
  const Index dims = rotated(rule.head_dim);
  return {.theta = finite("rope.freq_base_swa").value_or(rule.theta),
          .dims = dims == rule.head_dim ? 0 : dims};
}

void GgufHyperparameters::read_rope_scaling(nn::RopeConfig& rope) const {
  using Kind = nn::RopeScaling::Kind;
  nn::RopeScaling& s = rope.scaling;
  const std::string type(
      file_.text(whole("rope.scaling.type")).value_or(has_value("rope.scaling.factor") ? "linear" : "none"));
  double factor = finite("rope.scaling.factor").value_or(1);
  if (const auto old = finite("rope.scale_linear"); old && type == "none")
    factor = *old, s.kind = Kind::linear;
  if (type == "linear") s.kind = Kind::linear;
  else if (type == "yarn") s.kind = Kind::yarn;
  else if (type != "none")
    refuse("rope",
           fmt::format(
               "rope scaling type \"{}\" is not supported; supported are none, linear, yarn and longrope",
               escaped(type, 40)));
  if (s.kind == Kind::none) return;
  if (!(factor > 0)) refuse("rope", fmt::format("rope scaling factor {} is not supported", factor));
  s.factor = factor;
  s.original_positions = has_value("rope.scaling.original_context_length")
                             ? count("rope.scaling.original_context_length", "rope", 1, kMost)
                             : count_or(Key::context, 0);
  const double attention = finite("rope.scaling.attn_factor").value_or(1);
  if (s.kind == Kind::yarn && attention != 1)
    s.attention_factor = attention * (0.1 * std::log(std::max(1.0, factor)) + 1);
}

void GgufHyperparameters::read_rope_factors(std::string_view name, nn::RopeConfig& rope, Index dims) const {
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

// Factors for texts up to the original context, and for longer ones.
void GgufHyperparameters::read_longrope(nn::RopeConfig& rope, Index dims) const {
  if (file_.find_tensor(kShortFactors) == nullptr)
    refuse("rope", fmt::format("rope scaling type \"longrope\" needs a tensor \"{}\"", kShortFactors));
  read_rope_factors(kShortFactors, rope, dims);
  nn::RopeConfig beyond;
  read_rope_factors(kLongFactors, beyond, dims);
  if (beyond.factors.empty())
    refuse("rope", fmt::format("rope scaling type \"longrope\" needs a tensor \"{}\"", kLongFactors));
  rope.long_factors = beyond.factors;
  rope.scaling.kind = nn::RopeScaling::Kind::longrope;
  rope.scaling.original_positions = count("rope.scaling.original_context_length", "rope", 1, kMost);
  rope.scaling.attention_factor = finite("rope.scaling.attn_factor").value_or(1);
}

}  // namespace headlight::models
