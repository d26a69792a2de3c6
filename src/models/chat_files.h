// Chat settings of a model's files: the chat template and the sampling defaults.
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
  std::string name;                                              // for messages: its file
  std::vector<std::pair<std::string, std::string>> tokens = {};  // "bos_token": "<s>" …
};
// Of a folder: chat_template.jinja, chat_template.json, or tokenizer_config.json; of a GGUF file: tokenizer.chat_template.
// None: no template. Throws Error{input}.
[[nodiscard]] std::optional<ChatFile> find_chat_template(const std::string& path, const Tokenizer* tokenizer);

// The sampling settings of generation_config.json.
struct GenerationDefaults {
  std::string name = {};  // the file; empty: none, or it has no such settings
  bool draws = false;     // do_sample
  std::optional<double> temperature = std::nullopt, top_p = std::nullopt, min_p = std::nullopt,
                        repetition_penalty = std::nullopt;
  std::optional<Index> top_k = std::nullopt;
};
[[nodiscard]] GenerationDefaults read_generation_defaults(const std::string& path);

}  // namespace headlight::models
