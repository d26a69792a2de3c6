// The rules for untrusted files, each with a short name: S for .safetensors, G for .gguf, D for
// model folders, C for config.json, T for tokenizers. docs/guide/models.md explains them.
#pragma once

#include <span>
#include <string_view>

namespace headlight::models {

struct Rule {
  std::string_view id;    // "G3"
  std::string_view says;  // the rule
};
[[nodiscard]] std::span<const Rule> rules();

// The kind of file in which an error occurred: the same code has different meanings in different files.
enum class Stage { container, folder, config, tokenizer };
// The rule behind an error's code; null when there is none, as for a file that cannot be opened.
[[nodiscard]] const Rule* find_rule(Stage stage, std::string_view code);

}  // namespace headlight::models
