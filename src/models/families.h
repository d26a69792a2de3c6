// The families of models whose files we read and write: what their config.json says, and what they call
// their parameters. One file per family, family_*.cc; everything else is the same for all.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "io/json.h"
#include "models/trainable.h"
#include "models/transformer_config.h"

namespace headlight::models {

// A module's name here and in the family's files, without ".weight" and ".bias"; {n} is a layer's number.
struct NameRow {
  std::string_view ours, theirs;
};

struct Family {
  std::string_view name;  // config.json's model_type
  std::span<const NameRow> names;
  TransformerConfig (*read)(const io::Json& json) = nullptr;
  std::string (*write)(const TransformerConfig& config) = nullptr;  // null: read only
  std::string_view prefix = {};  // of all names but the head's; checkpoints of the bare model lack it
};

// Throws Error{input} that lists the names.
[[nodiscard]] const Family& find_family(std::string_view name);

// What the family's files call a parameter ("decoder.3.attention.query.weight"); empty when they have no
// place for it.
[[nodiscard]] std::string parameter_name(const Family& family, std::string_view ours);

// Gives every parameter its name in the family's files. Throws Error{usage} for one that has no place there.
void rename_parameters(std::string_view family, const Parameters& parameters);

// Throws Error{usage} when the family's config.json cannot say what the config says.
[[nodiscard]] std::string write_config(const TransformerConfig& config);
// Throws Error{input} for what is missing or not known here.
[[nodiscard]] TransformerConfig read_config(const io::Json& json);

}  // namespace headlight::models
