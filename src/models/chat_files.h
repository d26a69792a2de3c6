// What a model's files say about conversations: the chat template, and how answers are to be drawn.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headlight/tensor.h"
#include "headlight/tokenizer.h"

namespace headlight::models {

struct ChatFile {
  std::string source;                                            // of the template
  std::string name;                                              // what messages call it: its file
  std::vector<std::pair<std::string, std::string>> tokens = {};  // "bos_token": "<s>" …
};
// Of a folder: chat_template.jinja, chat_template.json, or tokenizer_config.json; of a GGUF file: tokenizer.chat_template.
// Nothing when there is none. Throws Error{input}.
[[nodiscard]] std::optional<ChatFile> find_chat_template(const std::string& path, const Tokenizer* tokenizer);

// generation_config.json, as far as it says how tokens are drawn.
struct GenerationDefaults {
  std::string name = {};  // the file; empty: there is none, or it says nothing about it
  bool draws = false;     // do_sample
  std::optional<double> temperature = std::nullopt, top_p = std::nullopt, min_p = std::nullopt,
                        repetition_penalty = std::nullopt;
  std::optional<Index> top_k = std::nullopt;
};
[[nodiscard]] GenerationDefaults read_generation_defaults(const std::string& path);

}  // namespace headlight::models
