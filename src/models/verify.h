// Checks a file against all rules and reports everything that loading would reject, without reading parameters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/error.h"
#include "models/rules.h"

namespace headlight::models {

struct Verdict {
  std::string path;
  std::string level;               // the kind of file that was checked: "GGUF model", "safetensors file", …
  std::vector<std::string> found;  // a summary: "llama: 6 layers, …", "32000 tokens"
  std::vector<std::string> notices;
  std::optional<Error> refusal;  // empty: the file is valid
  const Rule* rule = nullptr;    // the violated rule, if any
};

// A model's folder, or a file: .safetensors, .gguf, .npy, tokenizer.json, SentencePiece .model, vocab.txt. A
// GGUF file is verified as a model when it has token embeddings, else as a vocabulary when it has one, else as
// a plain container.
[[nodiscard]] Verdict verify(const std::string& path);

}  // namespace headlight::models
