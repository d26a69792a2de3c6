// Tokenizers in files, as people have them.
#pragma once

#include <string>
#include <string_view>

#include "headlight/tokenizer.h"
#include "io/json.h"

namespace headlight::models {

// A tokenizer.json, or a folder with one.
// Throws Error: file when it cannot be read, input when it is refused.
[[nodiscard]] Tokenizer load_tokenizer(const std::string& path);

// FOLDER/tokenizer.json, the folder made if it is missing. `existing` refuses or replaces the file.
enum class ExistingTokenizer { refuse, replace };
void save_tokenizer(const Tokenizer& tokenizer, const std::string& folder, ExistingTokenizer existing);

// The text of a tokenizer.json, and back.
[[nodiscard]] std::string tokenizer_to_json(const Tokenizer& tokenizer);
[[nodiscard]] Tokenizer tokenizer_from_json(const io::Json& json);

}  // namespace headlight::models
