// The two key tables: what config.json and what GGUF metadata call the same thing.
#pragma once

#include <array>
#include <string_view>

#include "models/hyperparameters.h"

namespace headlight::models {

// How a GGUF file says it: by a key behind the architecture's name, by a key of the tokenizer, or by its tensors.
enum class GgufWay : std::uint8_t { none, value, tokenizer, has_tensor, lacks_tensor, rows_of_tensor };

struct KeyRow {
  Key key;
  std::array<std::string_view, 7> json = {};  // the first that is there counts
  GgufWay way = GgufWay::none;
  std::array<std::string_view, 3> gguf = {};
  std::string_view code = {};  // of what is wrong with it: "gguf.CODE"
};

[[nodiscard]] const KeyRow& row_of(Key key);

}  // namespace headlight::models
