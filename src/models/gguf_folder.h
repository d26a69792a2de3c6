// A .gguf file in the form of a folder: parameters under the folder's names, with their rows in its order, and the
// text files. Used by convert.cc, which writes it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/model_files.h"
#include "models/transformer_config.h"
#include "models/weights.h"

namespace headlight::models {

class GgufFolder : public WeightSource {
 public:
  // `files` must be of a .gguf file and outlive this. Throws Error{usage} for a model that no folder can describe, Error{input}
  // as load_transformer() does.
  explicit GgufFolder(const ModelFiles& files);
  GgufFolder(const GgufFolder&) = delete;
  GgufFolder& operator=(const GgufFolder&) = delete;

  // config.json and the files of the tokenizer, by name, and notes on what could not be written.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& texts() const { return texts_; }
  [[nodiscard]] const std::vector<std::string>& notices() const { return notices_; }

  [[nodiscard]] const std::string& name() const override { return files_.path(); }
  [[nodiscard]] std::string_view config_name() const override { return "its metadata"; }
  // All of them as F32, regardless of the type in the file.
  [[nodiscard]] std::vector<StoredTensor> tensors() const override;
  [[nodiscard]] std::optional<StoredTensor> find(std::string_view name) const override;
  [[nodiscard]] std::span<const std::byte> bytes(std::string_view name) const override;
  [[nodiscard]] std::shared_ptr<const void> owner(std::string_view name) const override;
  void read(std::string_view name, std::uint64_t offset, std::span<std::byte> to) const override;
  void load(std::string_view name, TensorView to) const override;

 private:
  struct Place {
    std::string stored;  // its name in the file
    std::vector<Index> shape;
    Index head_dim = 0, pairs = 0;  // of rows in the order of their pairs; 0: unchanged
    bool transposed = false;
  };
  using Copy = std::shared_ptr<const std::vector<float>>;
  void add_parameters(const TransformerConfig& config, const TransformerConfig& folder);
  void add_tokenizer();
  [[nodiscard]] const Place& place(std::string_view name) const;
  [[nodiscard]] Copy copy(std::string_view name) const;

  const ModelFiles& files_;
  std::map<std::string, Place, std::less<>> places_;
  std::vector<std::pair<std::string, std::string>> texts_;
  std::vector<std::string> notices_;
  mutable std::map<std::string, Copy, std::less<>> copies_;
};

}  // namespace headlight::models
