// The model families whose files are read and written. Each is described once, for folders and for GGUF, in family_*.cc.
// hyperparameter_keys.cc has the names of the fields.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "io/gguf.h"
#include "io/json.h"
#include "models/hyperparameters.h"
#include "models/names.h"
#include "models/transformer_config.h"

namespace headlight::models {

struct Family {
  std::string_view name;  // config.json's model_type
  std::string_view architecture =
      {};  // general.architecture of GGUF files; empty: GGUF files are not supported
  TransformerConfig (*read)(const Hyperparameters& h) = nullptr;
  Names names = {}, gguf = {};
  std::string (*write)(const TransformerConfig& config) = nullptr;  // null: read only
  Names two_norms = {}, gguf_two_norms = {};  // of parallel blocks with two norms, if different
  std::string_view section = {};              // the object of config.json that describes it; empty: all of it
  std::span<const KeyDefault> defaults = {};  // defaults of fields missing in config.json
};

// All of them, in the order of the guide.
[[nodiscard]] std::span<const Family* const> families();

// Throws Error{input} that lists the names.
[[nodiscard]] const Family& find_family(std::string_view name);

// The names that the files of a model use.
enum class Files : std::uint8_t { folder, gguf };
[[nodiscard]] const Names& names_of(const TransformerConfig& config, Files files = Files::folder);

// Throws Error{usage} when the family's config.json cannot express the config, or its files have no name for a
// parameter.
[[nodiscard]] std::string write_config(const TransformerConfig& config);

// Both throw Error{input} for missing or unsupported settings.
[[nodiscard]] TransformerConfig read_config(const io::Json& json);
struct DescribedTransformer {
  TransformerConfig config;
  std::vector<std::string> notices;  // notes for the user
};
[[nodiscard]] DescribedTransformer describe_gguf(const io::Gguf& file);

}  // namespace headlight::models
