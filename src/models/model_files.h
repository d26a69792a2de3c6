// The files of one model, opened and parsed once: a folder with config.json and weights, or a .gguf file. They
// provide the config, the parameters and the tokenizer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/folder.h"
#include "io/gguf.h"
#include "io/json.h"
#include "models/families.h"
#include "models/recurrent.h"
#include "models/tokenizer_file.h"
#include "models/transformer_config.h"
#include "models/weights.h"

namespace headlight::models {

class ModelFiles {
 public:
  // Opens the weights. Throws Error that names the file: `file` when there are none, `input` for the rest.
  explicit ModelFiles(const std::string& path);
  ModelFiles(const ModelFiles&) = delete;
  ModelFiles& operator=(const ModelFiles&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  // One tensor for each matrix, also where a file has those of all experts in one.
  [[nodiscard]] const WeightSource& weights() const { return slices_ ? *slices_ : *weights_; }
  [[nodiscard]] const WeightSource& stored_weights() const { return *weights_; }
  [[nodiscard]] const std::vector<std::string>& notices() const { return notices_; }
  [[nodiscard]] const io::Gguf* gguf() const { return gguf_ ? &*gguf_ : nullptr; }
  [[nodiscard]] const Names& names(const TransformerConfig& config) const {
    return names_of(config, gguf_ ? Files::gguf : Files::folder);
  }

  // model_type of config.json, or general.architecture; empty: absent.
  [[nodiscard]] std::string architecture() const;
  [[nodiscard]] bool is_recurrent() const { return architecture() == kRecurrentType; }

  // The config, without loading parameters. Both throw Error{input} for missing or unsupported parts.
  [[nodiscard]] DescribedTransformer describe() const;
  [[nodiscard]] RecurrentModelConfig describe_recurrent() const { return read_recurrent_config(config()); }
  // Throws Error{input} if the file exists but is refused.
  [[nodiscard]] FoundTokenizer find_tokenizer() const;

  // Throws Error{input} that names an unused tensor that would change the computation. `unused` are the tensors
  // that no parameter uses; known buffers and copies are accepted.
  void check_unused(const TransformerConfig& config, const std::vector<std::string>& unused) const;

 private:
  [[nodiscard]] const io::Json& config() const;

  std::string path_;
  std::optional<io::Folder> folder_;
  std::optional<io::Gguf> gguf_;
  std::unique_ptr<const WeightSource> weights_;
  std::unique_ptr<const WeightSource> slices_;
  std::vector<std::string> notices_;
  mutable std::string config_text_;
  mutable std::optional<io::Json> config_;
};

}  // namespace headlight::models
