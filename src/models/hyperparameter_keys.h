// The names of each hyperparameter in config.json and in GGUF metadata.
#pragma once

#include <array>
#include <string_view>

#include "models/hyperparameters.h"

namespace headlight::models {

// The position in a GGUF file: a key prefixed with the architecture, a key of the tokenizer, or implied by tensors.
enum class GgufWay : std::uint8_t { none, value, tokenizer, has_tensor, lacks_tensor, rows_of_tensor };

struct KeyRow {
  Key key;
  std::array<std::string_view, 7> json = {};  // the first one present is used
  GgufWay way = GgufWay::none;
  std::array<std::string_view, 3> gguf = {};
  std::string_view code = {};  // of what is wrong with it: "gguf.CODE"
};

[[nodiscard]] const KeyRow& row_of(Key key);

}  // namespace headlight::models
