// Rotary positions in config.json: rope_parameters (transformers 5), or rope_theta and rope_scaling (4).
#include <fmt/format.h>

#include <cmath>

#include "models/json_hyperparameters.h"

namespace headlight::models {

namespace {

using Kind = io::Json::Kind;
constexpr std::size_t kMostPairs = 4096;

}  // namespace

// One factor for each pair.
std::vector<double> JsonHyperparameters::rope_factors(const io::Json& entry, std::string_view field) const {
  std::vector<double> factors;
  for (const io::Json& item : entry.list(field).items()) {
    if (factors.size() == kMostPairs) refuse(field, "more pairs than a head has");
    factors.push_back(item.real());
    if (!(factors.back() > 0) || !std::isfinite(factors.back()))
      refuse(field, fmt::format("rotations cannot be divided by {}", factors.back()));
  }
  return factors;
}

// Phi 3: each pair has one factor for texts up to the original context, and another one for longer texts.
void JsonHyperparameters::read_longrope(const io::Json& entry, nn::RopeConfig& rope) const {
  rope.factors = rope_factors(entry, "short_factor");
  rope.long_factors = rope_factors(entry, "long_factor");
  if (rope.long_factors.size() != rope.factors.size())
    refuse("long_factor",
           fmt::format("{} factors; short_factor has {}", rope.long_factors.size(), rope.factors.size()));
  rope.scaling.kind = nn::RopeScaling::Kind::longrope;
  const Index positions = count(Key::context);
  const Index original = entry.integer_or("original_max_position_embeddings",
                                          json_.integer_or("original_max_position_embeddings", positions));
  if (original <= 1)
    refuse("original_max_position_embeddings", fmt::format("a context of {} tokens", original));
  rope.scaling.original_positions = original;
  const double stretch = static_cast<double>(positions) / static_cast<double>(original);
  rope.scaling.attention_factor = entry.real_or(
      "attention_factor",
      stretch > 1 ? std::sqrt(1 + std::log(stretch) / std::log(static_cast<double>(original))) : 1);
}

void JsonHyperparameters::read_scaling(const io::Json& entry, nn::RopeScaling& s) const {
  s.factor = entry.real("factor");
  s.original_positions =
      entry.integer_or("original_max_position_embeddings",
                       json_.integer_or("original_max_position_embeddings", count_or(Key::context, 0)));
  s.low_frequency = entry.real_or("low_freq_factor", s.low_frequency);
  s.high_frequency = entry.real_or("high_freq_factor", s.high_frequency);
  s.beta_fast = entry.real_or("beta_fast", s.beta_fast);
  s.beta_slow = entry.real_or("beta_slow", s.beta_slow);
  s.truncate = entry.boolean_or("truncate", s.truncate);
  s.attention_factor = entry.real_or("attention_factor", 0);
  const double mscale = entry.real_or("mscale", 0), all = entry.real_or("mscale_all_dim", 0);
  if (s.kind == nn::RopeScaling::Kind::yarn) s.score_mscale = all;
  if (s.kind == nn::RopeScaling::Kind::yarn && s.attention_factor == 0 && mscale > 0 && all > 0 &&
      s.factor > 1)
    s.attention_factor = (0.1 * mscale * std::log(s.factor) + 1) / (0.1 * all * std::log(s.factor) + 1);
}

nn::RopeConfig JsonHyperparameters::rope_entry(const io::Json& entry, double theta) const {
  using Scaling = nn::RopeScaling::Kind;
  nn::RopeConfig rope;
  rope.theta = entry.real_or("rope_theta", theta);
  const std::string type = entry.text_or("rope_type", entry.text_or("type", "default"));
  if (type == "default") return rope;
  if (type == "longrope" || type == "su") return read_longrope(entry, rope), rope;
  if (type == "linear") rope.scaling.kind = Scaling::linear;
  else if (type == "dynamic") rope.scaling.kind = Scaling::dynamic;
  else if (type == "yarn") rope.scaling.kind = Scaling::yarn;
  else if (type == "llama3") rope.scaling.kind = Scaling::llama3;
  else
    refuse("rope_type",
           fmt::format(
               "\"{}\" is not supported; supported are default, linear, dynamic, yarn, llama3 and longrope",
               type));
  read_scaling(entry, rope.scaling);
  return rope;
}

const io::Json* JsonHyperparameters::rope_section() const {
  for (const std::string_view field : {"rope_parameters", "rope_scaling"})
    if (const io::Json* section = find(field); section != nullptr && section->is(Kind::object))
      return section;
  return nullptr;
}

nn::RopeConfig JsonHyperparameters::rope(const RopeRule& rule) const {
  double theta = rule.theta, share = rule.share;
  for (const std::string_view field : {"rotary_emb_base", "global_rope_theta", "rope_theta"})
    if (find(field) != nullptr) theta = json_.real(field);
  for (const std::string_view field : {"rotary_pct", "partial_rotary_factor"})
    if (find(field) != nullptr) share = json_.real(field);
  nn::RopeConfig rope{.theta = theta};
  if (const io::Json* section = rope_section()) {
    if (section->find("full_attention") != nullptr) section = &section->object("full_attention");
    rope = rope_entry(*section, theta);
    share = section->real_or("partial_rotary_factor", share);
  }
  if (!(share > 0 && share <= 1))
    refuse("partial_rotary_factor", fmt::format("{} is not a fraction between 0 and 1", share));
  if (rule.head_dim < 0 || rule.head_dim >= (Index{1} << 31))
    refuse(Key::head_dim, fmt::format("heads of {}", rule.head_dim));
  rope.dims = rule.dims > 0 ? rule.dims : static_cast<Index>(static_cast<double>(rule.head_dim) * share);
  if (rope.dims == rule.head_dim) rope.dims = 0;
  return rope;
}

nn::RopeConfig JsonHyperparameters::window_rope(const RopeRule& rule) const {
  const io::Json* section = rope_section();
  if (section != nullptr && section->find("sliding_attention") != nullptr)
    return rope_entry(section->object("sliding_attention"), rule.theta);
  for (const std::string_view field : {"rope_local_base_freq", "local_rope_theta"})
    if (find(field) != nullptr) return {.theta = json_.real(field)};
  return {.theta = rule.theta};
}

}  // namespace headlight::models
