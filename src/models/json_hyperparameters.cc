#include "models/json_hyperparameters.h"

#include <fmt/format.h>

#include "core/escape.h"
#include "headlight/error.h"
#include "models/hyperparameter_keys.h"

namespace headlight::models {
namespace {

using Kind = io::Json::Kind;

std::string value_text(const io::Json& value) {
  switch (value.kind()) {
    case Kind::null: return "null";
    case Kind::boolean: return value.boolean() ? "true" : "false";
    case Kind::integer: return fmt::format("{}", value.integer());
    case Kind::real: return fmt::format("{}", value.real());
    case Kind::text: return fmt::format("\"{}\"", escaped(value.text(), 40));
    case Kind::list: return fmt::format("a list of {}", value.items().size());
    case Kind::object: break;
  }
  return "an object";
}

// Fields that change what some family computes, and the number at which they do not; at rest are null, false, 0 and
// empty lists as well. A reader that knows one asks for it.
struct Meaningful {
  std::string_view field;
  double neutral = 0;
};
constexpr Meaningful kMeaningful[] = {
    {"add_bias_logits"},
    {"add_cross_attention"},
    {"add_final_layer_norm"},
    {"alibi"},
    {"apply_residual_connection_post_layernorm"},
    {"attention_chunk_size"},
    {"attention_layers"},
    {"attention_multiplier", 1},
    {"attention_types"},
    {"attn_logit_softcapping"},
    {"attn_temperature_tuning"},
    {"clip_qkv"},
    {"embedding_multiplier", 1},
    {"embedding_size"},
    {"final_logit_softcapping"},
    {"global_attn_every_n_layers"},
    {"is_decoder"},
    {"kv_lora_rank"},
    {"layer_types"},
    {"local_attention"},
    {"logit_scale", 1},
    {"logits_scaling", 1},
    {"moe_intermediate_size"},
    {"n_routed_experts"},
    {"new_decoder_architecture"},
    {"no_rope_layers"},
    {"normalize_before"},
    {"num_experts"},
    {"num_local_experts"},
    {"partial_rotary_factor", 1},
    {"q_lora_rank"},
    {"qk_layernorm"},
    {"quantization_config"},
    {"query_pre_attn_scalar"},
    {"residual_multiplier", 1},
    {"rope_parameters"},
    {"rope_scaling"},
    {"rotary_pct", 1},
    {"scale_attn_by_inverse_layer_idx"},
    {"scale_embedding"},
    {"sliding_window"},
    {"text_config"},
    {"use_qk_norm"},
    {"use_sliding_window"},
    {"word_embed_proj_dim"},
};

bool at_rest(const io::Json& value, double neutral) {
  switch (value.kind()) {
    case Kind::null: return true;
    case Kind::boolean: return !value.boolean();
    case Kind::integer:
    case Kind::real: return value.real() == 0 || value.real() == neutral;
    case Kind::text: return value.text().empty();
    case Kind::list:
    case Kind::object: break;
  }
  return value.items().empty();
}

}  // namespace

std::vector<std::int32_t> tokens_of(const io::Json& json, std::string_view field) {
  const io::Json* found = json.find(field);
  if (found == nullptr || found->is(Kind::null)) return {};
  const std::span<const io::Json> all = found->is(Kind::list) ? found->items() : std::span(found, 1);
  std::vector<std::int32_t> tokens;
  for (const io::Json& item : all) {
    const std::int64_t token = item.integer();
    if (token < -1 || token >= (std::int64_t{1} << 31))
      throw Error(
          ErrorKind::input, "model.config",
          fmt::format("{}: {} is {}, which is no token's number", escaped(json.file()), field, token));
    if (token >= 0) tokens.push_back(static_cast<std::int32_t>(token));
  }
  return tokens;
}

const io::Json* JsonHyperparameters::find(std::string_view field) const {
  asked_.emplace(field);
  const io::Json* found = json_.find(field);
  return found == nullptr || found->is(Kind::null) ? nullptr : found;
}

const io::Json* JsonHyperparameters::found(Key key) const {
  const io::Json* first = nullptr;
  for (const std::string_view field : row_of(key).json) {
    if (field.empty()) break;
    const io::Json* here = find(field);
    if (here == nullptr) continue;
    if (first == nullptr) first = here;
    if (first->is(Kind::integer) && here->is(Kind::integer) && first->integer() != here->integer())
      refuse(field, fmt::format("{} is {}, and both are one thing", name(key), first->integer()));
  }
  return first;
}

// The field that says it; where none does, the usual one.
std::string_view JsonHyperparameters::name(Key key) const {
  const KeyRow& row = row_of(key);
  for (const std::string_view field : row.json)
    if (!field.empty() && find(field) != nullptr) return field;
  return row.json.front();
}

Index JsonHyperparameters::count(Key key) const {
  (void)found(key);
  return json_.integer(name(key));
}

std::vector<std::int32_t> JsonHyperparameters::tokens(Key key) const { return tokens_of(json_, name(key)); }

Error JsonHyperparameters::refusal(std::string_view field, const std::string& why) const {
  const io::Json* value = json_.find(field);
  return {ErrorKind::input, "model.config",
          value == nullptr
              ? fmt::format("{}: {}: {}", escaped(json_.file()), field, why)
              : fmt::format("{}: {} is {}: {}", escaped(json_.file()), field, value_text(*value), why)};
}

void JsonHyperparameters::check_unread() const {
  for (const auto& [field, neutral] : kMeaningful) {
    const io::Json* value = json_.find(field);
    if (value != nullptr && !asked_.contains(field) && !at_rest(*value, neutral))
      refuse(field, "not known for this family, and it would change what the model computes");
  }
}

// layer_types, or GPT-Neo's attention_layers, or its attention_types: [[["global", "local"], 12]].
std::vector<std::string> JsonHyperparameters::layer_kinds() const {
  std::vector<std::string> kinds;
  const bool runs = find("attention_types") != nullptr;
  for (const std::string_view field : {"layer_types", "attention_layers"}) {
    if (find(field) == nullptr) continue;
    for (const io::Json& kind : json_.list(field).items()) kinds.push_back(kind.text());
    return kinds;
  }
  if (!runs) return kinds;
  for (const io::Json& entry : json_.list("attention_types").items()) {
    if (entry.items().size() != 2) refuse("attention_types", "an entry is not a list and a count");
    for (std::int64_t n = 0; n < entry.items()[1].integer() && kinds.size() < 4096; ++n)
      for (const io::Json& kind : entry.items()[0].items()) kinds.push_back(kind.text());
  }
  return kinds;
}

std::vector<Index> JsonHyperparameters::windows(Index layers, const WindowRule& rule) const {
  std::vector<Index> list(static_cast<std::size_t>(layers), 0);
  const auto keys = [&] {
    const Index window = count(Key::window);
    if (window < 0 || window > (Index{1} << 31)) refuse(Key::window, "that many keys make no window");
    return window;
  };
  const std::vector<std::string> kinds = layer_kinds();
  if (!kinds.empty()) {
    if (static_cast<Index>(kinds.size()) != layers)
      refuse("layer_types", fmt::format("{} types for {} layers", kinds.size(), layers));
    for (std::size_t n = 0; n < kinds.size(); ++n) {
      const bool slides = kinds[n] == "sliding_attention" || kinds[n] == "local";
      if (!slides && kinds[n] != "full_attention" && kinds[n] != "global")
        refuse("layer_types",
               fmt::format("\"{}\" is not known here; known are full_attention and sliding_attention",
                           escaped(kinds[n], 40)));
      if (slides) list[n] = keys();
    }
    (void)has(Key::window);  // which all types leave unused, perhaps
    return list;
  }
  if (rule.every == 1) return list;
  const Index window = has(Key::window) ? keys() : 0;
  Index every = rule.every;
  for (const std::string_view field : {"sliding_window_pattern", "_sliding_window_pattern"})
    if (every > 0 && find(field) != nullptr) {
      every = json_.integer(field);
      if (every < 1) refuse(field, "need 1 or more");
      break;
    }
  for (Index n = rule.first; window > 0 && n < layers; ++n)
    if (every == 0 || (n + 1) % every != 0) list[static_cast<std::size_t>(n)] = window;
  return list;
}

}  // namespace headlight::models
