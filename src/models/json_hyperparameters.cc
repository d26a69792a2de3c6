#include "models/json_hyperparameters.h"

#include <fmt/format.h>

#include "core/escape.h"
#include "headlight/error.h"
#include "models/hyperparameter_keys.h"

namespace headlight::models {
namespace {

using Kind = io::Json::Kind;

std::string value_text(const io::Json& value);

// Short lists and objects as they are; of long ones the beginning.
std::string entries_text(const io::Json& value) {
  constexpr std::size_t kRoom = 80;
  const bool object = value.is(Kind::object);
  std::string text = object ? "{" : "[";
  for (std::size_t i = 0; i < value.items().size(); ++i) {
    if (text.size() > kRoom) {
      text += ", …";
      break;
    }
    text += i == 0 ? "" : ", ";
    if (object) text += fmt::format("\"{}\": ", escaped(value.keys()[i], 40));
    const io::Json& item = value.items()[i];
    const bool nested = item.is(Kind::list) || item.is(Kind::object);
    text += nested ? (item.is(Kind::list) ? "[…]" : "{…}") : value_text(item);
  }
  return text + (object ? "}" : "]");
}

std::string value_text(const io::Json& value) {
  switch (value.kind()) {
    case Kind::null: return "null";
    case Kind::boolean: return value.boolean() ? "true" : "false";
    case Kind::integer: return fmt::format("{}", value.integer());
    case Kind::real: return fmt::format("{}", value.real());
    case Kind::text: return fmt::format("\"{}\"", escaped(value.text(), 40));
    case Kind::list:
    case Kind::object: break;
  }
  return entries_text(value);
}

// Fields that change the computation in some family, and the number at which they do not. The other neutral values are null,
// false, 0 and empty lists. A reader that supports the field reads it.
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
    {"attn_config"},
    {"attn_logit_softcapping"},
    {"attn_temperature_tuning"},
    {"classifier_bias"},
    {"clip_qkv"},
    {"conv_kernel_size"},
    {"decoder_sparse_step", 1},
    {"embedding_multiplier", 1},
    {"embedding_size"},
    {"final_logit_softcapping"},
    {"global_attn_every_n_layers"},
    {"inner_group_num", 1},
    {"interleave_moe_layer_step"},
    {"is_decoder"},
    {"kv_lora_rank"},
    {"layer_types"},
    {"local_attention"},
    {"logit_scale", 1},
    {"logits_scaling", 1},
    {"mlp_only_layers"},
    {"moe_intermediate_size"},
    {"moe_layers"},
    {"n_routed_experts"},
    {"n_shared_experts"},
    {"new_decoder_architecture"},
    {"no_rope_layers"},
    {"normalize_before"},
    {"num_experts"},
    {"num_experts_per_tok"},
    {"num_hidden_groups", 1},
    {"num_local_experts"},
    {"partial_rotary_factor", 1},
    {"pos_att_type"},
    {"position_buckets"},
    {"q_lora_rank"},
    {"qk_layernorm"},
    {"qk_rope_head_dim"},
    {"quantization_config"},
    {"query_pre_attn_scalar"},
    {"relative_attention"},
    {"residual_multiplier", 1},
    {"rope_parameters"},
    {"rope_scaling"},
    {"rotary_dim"},
    {"rotary_pct", 1},
    {"routed_scaling_factor", 1},
    {"scale_attn_by_inverse_layer_idx"},
    {"scale_embedding"},
    {"scoring_func"},
    {"shared_expert_intermediate_size"},
    {"sliding_window"},
    {"text_config"},
    {"topk_method"},
    {"use_bidirectional_attention"},
    {"use_qk_norm"},
    {"use_sliding_window"},
    {"v_head_dim"},
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
      throw Error(ErrorKind::input, "model.config",
                  fmt::format("{}: {} is {}, which is not a token id", escaped(json.file()), field, token));
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
      refuse(field, fmt::format("{} is {}, but both set the same option", name(key), first->integer()));
  }
  return first;
}

// The name of the field that is present; if none is, the usual name.
std::string_view JsonHyperparameters::name(Key key) const {
  const KeyRow& row = row_of(key);
  for (const std::string_view field : row.json)
    if (!field.empty() && find(field) != nullptr) return field;
  return row.json.front();
}

std::optional<double> JsonHyperparameters::usual(Key key) const {
  for (const KeyDefault& row : defaults_)
    if (row.key == key) return row.value;
  return std::nullopt;
}

Index JsonHyperparameters::count(Key key) const {
  if (found(key) == nullptr)
    if (const std::optional<double> value = usual(key)) return static_cast<Index>(*value);
  return json_.integer(name(key));
}

double JsonHyperparameters::real(Key key) const {
  if (found(key) == nullptr)
    if (const std::optional<double> value = usual(key)) return *value;
  return json_.real(name(key));
}

// A number other than 0 is true, as in Python.
bool JsonHyperparameters::flag(Key key) const {
  const io::Json* value = found(key);
  if (value == nullptr && usual(key)) return *usual(key) != 0;
  return value != nullptr && value->is(Kind::integer) ? value->integer() != 0 : json_.boolean(name(key));
}

std::vector<std::int32_t> JsonHyperparameters::tokens(Key key) const { return tokens_of(json_, name(key)); }

std::vector<Index> JsonHyperparameters::counts(Key key) const {
  std::vector<Index> list;
  if (has(key))
    for (const io::Json& item : json_.list(name(key)).items()) list.push_back(item.integer());
  return list;
}

std::vector<std::string> JsonHyperparameters::texts(Key key) const {
  std::vector<std::string> list;
  if (has(key))
    for (const io::Json& item : json_.list(name(key)).items()) list.push_back(item.text());
  return list;
}

std::string JsonHyperparameters::entry(Key key, std::string_view field) const {
  const io::Json* object = found(key);
  const io::Json* value = object != nullptr ? object->find(field) : nullptr;
  return value != nullptr ? value_text(*value) : "";
}

std::vector<std::string> JsonHyperparameters::entries(Key key) const {
  const io::Json* object = found(key);
  return object != nullptr ? std::vector<std::string>(object->keys().begin(), object->keys().end())
                           : std::vector<std::string>();
}

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
      refuse(field, "not supported for this family, and it would change the result");
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
    if (window < 0 || window > (Index{1} << 31)) refuse(Key::window, "a window needs at least one key");
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
               fmt::format("\"{}\" is not supported; supported are full_attention and sliding_attention",
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
    if (const io::Json* pattern = find(field); every > 0 && pattern != nullptr) {
      if (pattern->is(Kind::text)) {  // "LLLG": local and global layers in turn
        const std::string& turns = pattern->text();
        if (turns.empty() || turns.find_first_not_of("LG") != std::string::npos)
          refuse(field, "need letters L and G");
        for (std::size_t n = 0; n < list.size(); ++n)
          if (turns[n % turns.size()] == 'L') list[n] = window;
        return list;
      }
      every = json_.integer(field);
      if (every < 1) refuse(field, "need 1 or more");
      break;
    }
  for (Index n = rule.first; window > 0 && n < layers; ++n)
    if (every == 0 || (n + 1) % every != 0) list[static_cast<std::size_t>(n)] = window;
  return list;
}

}  // namespace headlight::models
