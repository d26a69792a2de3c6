// How byte-level tokenizers in GGUF files split a text into words, by the name in tokenizer.ggml.pre.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headlight::models {

struct GgufCut {
  std::vector<std::string> names;
  std::vector<std::string> patterns;  // applied in turn; text between matches is a word too
  bool ignore_merges = false;         // a word that is a token is not merged from parts
  bool add_begin = false;             // unless the file says otherwise
};

// Throws Error{input} with all known names for an unknown one. `file` is for the message.
[[nodiscard]] const GgufCut& gguf_cut(std::string_view name, const std::string& file);
[[nodiscard]] const std::vector<GgufCut>& gguf_cuts();

}  // namespace headlight::models
