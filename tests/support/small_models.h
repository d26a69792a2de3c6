// Folders of small random models with a tokenizer of a few words, as `headlight` reads them.
#pragma once

#include <string>

#include "headlight/tokenizer.h"
#include "models/transformer_config.h"
#include "support/temp_folder.h"

namespace headlight::testing {

// Knows the street sentence and a little more, in lower case; "tired" is two tokens, "ti" and "##red".
[[nodiscard]] Tokenizer small_tokenizer();

enum class SmallKind { decoder, rotary, encoder, translator, recurrent };  // rotary: as Llama
struct SmallShape {
  Index context = 40, layers = 2, heads = 2;  // of eight numbers each
};
// Writes config.json, model.safetensors and tokenizer.json.
void write_small_model(const std::string& folder, SmallKind kind, const SmallShape& shape = {});

}  // namespace headlight::testing
