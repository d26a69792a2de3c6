// The vocabulary in a GGUF file's metadata (tokenizer.ggml.*), as a tokenizer that splits texts like
// llama.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/tokenizer.h"
#include "io/gguf.h"

namespace headlight::models {

struct GgufVocabulary {
  std::string model;            // "llama", "gpt2", "bert" or "t5"
  std::string pre = "default";  // name of the split pattern, for gpt2
  std::vector<std::string> tokens;
  std::vector<float> scores;  // for llama and t5: one per token
  std::vector<std::int32_t>
      types;  // one per token, or none: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
  std::vector<std::string> merges;  // for gpt2
  std::optional<TokenId> begin = std::nullopt, end = std::nullopt, unknown = std::nullopt;
  std::optional<TokenId> separator = std::nullopt, classifier = std::nullopt;
  std::optional<bool> add_begin = std::nullopt, add_end = std::nullopt;
  bool add_space_prefix = true, remove_extra_spaces = false;
  std::string charsmap = {};  // for t5
};

// Nothing when the file has none. Throws Error{input} for values of another type.
[[nodiscard]] std::optional<GgufVocabulary> read_gguf_vocabulary(const io::Gguf& file);

// Throws Error{input} for lists of different lengths, ids outside the vocabulary, invalid byte tokens,
// and unknown split patterns.
[[nodiscard]] Tokenizer tokenizer_from_gguf(const GgufVocabulary& from, const std::string& name);

}  // namespace headlight::models
